"""babeltrace2 reads what export --format=ctf writes: events, contexts, lost events. Bad and interrupted outputs."""
import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import traces

try:
    import bt2
except ImportError:
    print("babeltrace2's module for Python (python3-bt2) is not installed")
    sys.exit(77)

ENTRY, EXIT = "lttng_ust_cyg_profile:func_entry", "lttng_ust_cyg_profile:func_exit"
FIRST_STACK_TID = 1 << 22


def export(trace, directory):
    path = os.path.join(directory, "ctf")
    shutil.rmtree(path, ignore_errors=True)
    return trace.export("ctf", path)


def label(field):
    assert len(field.labels) == 1, field.labels
    return field.labels[0]


class Events:
    """Of all threads, in order of time. Keeps a stack of calls for each vtid, as Trace Compass does."""

    def __init__(self, path):
        self.calls, self.others, self.names = [], collections.defaultdict(list), set()
        self.discarded = 0
        self.addresses = {}
        open_calls, paused = collections.defaultdict(list), {}
        for message in bt2.TraceCollectionMessageIterator(path):
            if isinstance(message, bt2._DiscardedEventsMessageConst):
                self.discarded += message.count
            if not isinstance(message, bt2._EventMessageConst):
                continue
            event = message.event
            clock, fields = message.default_clock_snapshot, event.payload_field
            now, self.start = clock.value, clock.ns_from_origin - clock.value
            thread = int(event["vpid"]), int(event["vtid"])
            self.names.add((thread[1], str(event["procname"])))
            if event.name == ENTRY:
                self.addresses[label(fields["function"])] = int(fields["addr"])
                open_calls[thread].append((label(fields["function"]), now, label(fields["began"]) == "before"))
            elif event.name == EXIT:
                name, start, before = open_calls[thread].pop()
                assert name == label(fields["function"]) and fields["addr"] == self.addresses[name]
                stood = paused.pop(thread, 0)
                self.calls.append(traces.Call(name, start, now - start - stood, stood, label(fields["how"]), before))
            elif event.name == "spoor:call_paused":
                paused[thread] = int(fields["paused_ns"])
            else:
                self.others[event.name].append((now, *fields.values()))
        assert not any(open_calls.values()) and not paused


def check(trace, directory):
    path = export(trace, directory)
    streams = [name for name in os.listdir(path) if name.startswith("stream_")]
    lines = trace.lines()
    if not streams:
        assert not lines
        return
    if trace.path.endswith("deep"):  # the module for Python is slow
        counted = traces.run("babeltrace2", path, "--component=sink.utils.counter")
        assert int(re.findall(rb" (\d+) Event messages", counted)[-1]) == 2 * traces.DEEP, counted
        return
    if not trace.path.endswith(("random", "hostile")):
        traces.golden(trace, "ctf", traces.run("babeltrace2", "--clock-cycles", path))
    events = Events(path)
    found, wanted = sorted(events.calls), trace.calls()
    if trace.path.endswith(("hostile", "tables")):  # functions of one name have several addresses
        found, wanted = len(found), len(wanted)
    assert found == wanted, [pair for pair in zip(found, wanted) if pair[0] != pair[1]][:3]
    lost = [(o["t_ns"], o["count"]) for o in lines if o["kind"] == "lost"]
    assert sorted(events.others["spoor:lost"]) == sorted(lost)
    assert events.discarded == sum(count for _, count in lost)
    pauses = [(o["t_ns"], o["paused_ns"], o["cause"], int("in_call" in o)) for o in lines if o["kind"] == "pause"]
    assert sorted(events.others["spoor:pause"]) == sorted(pauses)
    changes = [o["t_ns"] for o in lines if o["kind"] in ("paused", "filter", "left")]
    assert sorted(event[0] for event in events.others["spoor:change"]) == changes
    tids = {tid for tid, _ in events.names if tid <= FIRST_STACK_TID}
    assert tids <= {o["tid"] for o in lines}


def check_recorded(trace, directory):
    events = Events(export(trace, directory))
    assert sorted(events.calls) == trace.calls(), (sorted(events.calls)[:3], trace.calls()[:3])
    sums = collections.Counter(call.function for call in events.calls)
    report = trace.report()
    assert sums == collections.Counter({name: row["calls"] + row["before"] for name, row in report.items()})
    assert {name for _, name in events.names} == {"lines"} and len(events.names) == 2
    start = json.loads(trace.view("info", "--json"))["start_unix_ns"]
    assert events.start == start, (events.start, start)
    symbols = dict(line.split()[::2][::-1] for line in traces.run("nm", "--defined-only", os.path.join(directory, "lines"))
                   .decode().splitlines())
    biases = {address - int(symbols[name], 16) for name, address in events.addresses.items()}
    assert len(biases) == 1 and biases.pop() % 4096 == 0, (events.addresses, symbols)


def run(trace, *options, **more):
    done = subprocess.run([trace.spoor, "export", "--format=ctf", *options, trace.path], stderr=subprocess.PIPE,
                          text=True, check=False, **more)
    return done.returncode, done.stderr


def folders_that_are_refused(trace, directory):
    full, file = os.path.join(directory, "full"), os.path.join(directory, "file")
    os.mkdir(full)
    with open(os.path.join(full, "kept"), "w", encoding="utf-8"), open(file, "w", encoding="utf-8"):
        pass
    assert run(trace) == (2, "spoor: export: --format=ctf writes a folder: give -o\n")
    assert run(trace, "-o", full) == (1, f"spoor: {full}: is not empty: choose another -o\n")
    assert run(trace, "-o", file) == (1, f"spoor: {file}: Not a directory\n")
    assert run(trace, "-o", file + "/x/y") == (1, f"spoor: {file}/x/y: Not a directory\n")
    assert os.listdir(full) == ["kept"]


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))


def failures_leave_nothing(trace, directory):
    made, empty = os.path.join(directory, "made"), os.path.join(directory, "empty")
    os.mkdir(empty)
    for path in made, empty:
        assert run(trace, "-o", path, preexec_fn=limit_files, restore_signals=False) == \
            (1, f"spoor: {path}: File too large\n")
    assert not os.path.exists(made) and os.listdir(empty) == []
    for delay in (0.01, 0.05, 0.1, 0.2):
        with subprocess.Popen([trace.spoor, "export", "--format=ctf", "-o", made, trace.path]) as process:
            while not os.path.exists(made) and process.poll() is None:
                time.sleep(0.001)
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
        if process.returncode == 0:  # it was faster
            shutil.rmtree(made)
        else:
            assert process.returncode == -signal.SIGINT and not os.path.exists(made), process.returncode


def check_written(trace, directory):
    check(trace, directory)
    if trace.path.endswith("deep"):
        folders_that_are_refused(trace, directory)
        failures_leave_nothing(trace, directory)


traces.need("babeltrace2")
traces.check_all(check_written, check_recorded)
