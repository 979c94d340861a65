#!/usr/bin/env python3
"""The flight recorder: triggers and SIGUSR1 make snapshots of the newest events; the program goes on.

    snapshots.py SPOOR PROGRAM     (requests.c)
"""
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time

from harness import Failure, Spoor, check, main

PATIENCE_S = 60
STATUS = 5


def messages():
    """spoor's standard error so far."""
    with open("errors", encoding="utf-8") as errors:
        return errors.read()


class Session:
    """The program under spoor. It reads requests line by line and answers each."""

    def __init__(self, spoor, options, program, **how):
        self.errors = open("errors", "w+", encoding="utf-8")
        self.process = subprocess.Popen([spoor.path, "record", "-o", "trace", *options, "--", program],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, bufsize=1, **how)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()

    def send(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
            answer = self.process.stdout.readline()
            check(answer == line + "\n", f"the answer to '{line}' is '{answer}': {self.stderr()}")

    @staticmethod
    def stderr():
        return messages()

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                raise Failure(f"no {what}: {self.stderr()}")
            time.sleep(0.002)

    def wait_for_snapshot(self, number):
        self.wait_for(lambda: os.path.exists(f"trace.{number}") and f"trace.{number}: " in self.stderr(),
                      f"snapshot {number}")

    def end(self, status=STATUS):
        self.process.stdin.close()
        check(self.process.wait(PATIENCE_S) == status,
              f"status {self.process.returncode}: {self.stderr()}")
        return self.stderr()


def remove_traces():
    for name in os.listdir("."):
        if name.startswith("trace"):
            os.unlink(name)


def session(spoor, options, program, **how):
    remove_traces()
    return Session(spoor, options, program, **how)


def snapshots():
    return sorted(int(name[6:]) for name in os.listdir(".") if re.fullmatch(r"trace\.\d+", name))


def check_numbers(wanted, stderr):
    check(snapshots() == wanted, f"snapshots {snapshots()} instead of {wanted}: {stderr}")
    check("trace.part" not in os.listdir("."), "the trace is not complete")
    modes = {name: stat.S_IMODE(os.stat(name).st_mode) for name in ["trace", *(f"trace.{i}" for i in wanted)]}
    check(set(modes.values()) == {0o600}, f"others may read a recording: {modes}")


def calls_of(spoor, trace):
    """(function, duration in ns, names of its callees) of each call that ended."""
    opened, ended = {}, []
    for item in spoor.replay(trace):
        stack = opened.setdefault(item["tid"], [])
        if item["kind"] == "entry":
            for caller in stack:
                caller[2].append(item["function"])
            stack.append([item["function"], item["t_ns"], []])
        elif item["kind"] in ("exit", "unwound") and stack:
            function, start, callees = stack.pop()
            check(function == item["function"], f"{trace}: {item} ends {function}")
            ended.append((function, item["t_ns"] - start, callees))
    return ended


def test_a_slow_call_is_kept_whole(spoor, program):
    # On a busy machine fast requests may count as slow, too. Slow requests always do.
    with session(spoor, ["--trigger=request>100ms", "--snapshot-gap=1ns"], program) as s:
        s.send("fast 20000", "slow 150")
        s.wait_for(lambda: any("crunch" in callees for i in snapshots() for function, ns, callees
                               in calls_of(spoor, f"trace.{i}") if function == "request"), "the slow request")
        s.send("fast 20000")
        stderr = s.end()
    for i in snapshots():
        slow = [call for call in calls_of(spoor, f"trace.{i}") if call[0] == "request" and call[1] > 100e6]
        check(slow, f"trace.{i} holds no slow request")
        for _, _, callees in slow:
            check({"parse", "look_up", "answer"} <= set(callees), f"trace.{i}: callees: {callees}")
        info = spoor.info(f"trace.{i}")
        check(info["snapshot"] == i and info["reason"] == "request>100ms" and info["complete"]
              and info["status"] is None, f"trace.{i}: {info}")
    check_numbers(list(range(1, len(snapshots()) + 1)), stderr)
    check(spoor.info()["status"] == STATUS and "snapshot" not in spoor.info(), "the trace is a snapshot")


def test_overwritten_callers_are_kept(spoor, program):
    """The ring holds less than the call that fires: its callers and its begin are in the snapshot. It holds what the
    program writes in 200 ms, so that the drainer may be late on a busy machine."""
    for trigger, whole in ("chore>400ms", True), ("rare", False):
        with session(spoor, [f"--trigger={trigger}", "--buffer=64K"], program) as s:
            s.send("long 600")
            if not whole:
                s.send("rare 1")
            s.wait_for_snapshot(1)
            s.end()
        info, items = spoor.info("trace.1"), [item for item in spoor.replay("trace.1") if "function" in item]
        check(info["events"]["lost"] == 0 and info["overwritten"] > 0, f"{trigger}: {info['events']}")
        check(items[0]["kind"] == "entry" and items[0]["function"] == "main" and items[0]["depth"] == 0,
              f"{trigger}: begins with {items[0]}")
        check(not any(item["function"] == "main" for item in items[1:]), f"{trigger}: main has ended")
        chores = [ns for function, ns, _ in calls_of(spoor, "trace.1") if function == "chore"]
        check(len(chores) == whole and all(ns > 400e6 for ns in chores), f"{trigger}: chores {chores}")
        text = spoor.view("report", "trace.1").decode()
        check("no events lost, " in text and "overwritten" in text, text)


def test_a_call_left_by_longjmp_counts(spoor, program):
    with session(spoor, ["--trigger", "escape > 100ms"], program) as s:
        s.send("fast 100", "left 150")
        s.wait_for_snapshot(1)
        check_numbers([1], s.end())
    left = [call for call in calls_of(spoor, "trace.1") if call[0] == "escape"]
    check(len(left) == 1 and left[0][1] > 100e6, f"calls that longjmp left: {left}")


def test_entries_trigger(spoor, program):
    with session(spoor, ["--trigger=ra*e", "--trigger=nothing*>5s", "--trigger=request>60m", "-F*",
                         "--snapshot-gap=1ns", "-M", "*"], program) as s:
        for number in 1, 2:
            s.send("fast 10", "rare 1")
            s.wait_for_snapshot(number)
        stderr = s.end()
    check_numbers([1, 2], stderr)
    check("trigger 'nothing*>5s': matches no function" in stderr, f"stderr: {stderr}")
    check("snapshots trace.1 to trace.2" in stderr.splitlines()[-1], f"the summary names no snapshots: {stderr}")
    for number in 1, 2:
        count = sum(call[0] == "rare" for call in calls_of(spoor, f"trace.{number}"))
        check(count in (number, number - 1), f"trace.{number}: {count} calls of rare()")
        check(spoor.info(f"trace.{number}")["reason"] == "ra*e", "wrong reason")


def test_bursts_are_bounded(spoor, program):
    with session(spoor, ["--trigger=rare", "--snapshot-gap=60m"], program) as s:
        s.send("rare 1000")
        s.wait_for_snapshot(1)
        s.send("rare 1000")
        stderr = s.end()
    check_numbers([1], stderr)
    check("spoor: 1999 more triggers came sooner after a snapshot than --snapshot-gap allows" in stderr, stderr)
    with session(spoor, ["--trigger=rare", "--snapshots=2", "--snapshot-gap=1ns"], program) as s:
        for number in 1, 2:
            s.send("rare 1")
            s.wait_for_snapshot(number)
        s.send("rare 3")
        stderr = s.end()
    check_numbers([1, 2], stderr)
    check("spoor: 3 more triggers came after the last of --snapshots=2" in stderr, stderr)


def test_the_last_events_trigger(spoor, program):
    """The program ends right after the trigger."""
    with session(spoor, ["--trigger=_fini"], program) as s:
        s.send("fast 10")
        check_numbers([1], s.end())
    check(sum(call[0] == "request" for call in calls_of(spoor, "trace.1")) == 10, "calls are missing")


def wait_for_ended_threads(s):
    """Until spoor has seen their ends. Before, it counts them as running."""
    with open(f"/proc/{s.process.pid}/task/{s.process.pid}/children", encoding="ascii") as children:
        [program] = children.read().split()
    s.wait_for(lambda: len(os.listdir(f"/proc/{program}/task")) == 1, "end of the threads")


def ask(s, number):
    os.kill(s.process.pid, signal.SIGUSR1)
    s.wait_for_snapshot(number)


def test_sigusr1(spoor, program):
    with session(spoor, ["--overflow=overwrite"], program,
                 preexec_fn=lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN)) as s:
        s.send("fast 7")
        ask(s, 1)
        s.send("rare 2")
        ask(s, 2)
        stderr = s.end()
    check_numbers([1, 2], stderr)
    for number, rare in (1, 0), (2, 2):
        calls = [call[0] for call in calls_of(spoor, f"trace.{number}")]
        check(calls.count("request") == 7 and calls.count("rare") == rare, f"trace.{number}: {calls}")
        events = spoor.info(f"trace.{number}")["events"]
        check(f"trace.{number}: snapshot for SIGUSR1: {events['entry'] + events['exit']} events of 1 thread, "
              "over " in stderr, f"stderr: {stderr}, and there are {events}")


def test_sigusr1_where_all_is_written(spoor, program):
    with session(spoor, [], program) as s:
        s.send("fast 7")
        os.kill(s.process.pid, signal.SIGUSR1)
        s.wait_for(lambda: "no snapshot for SIGUSR1: all events are written anyway" in s.stderr(), "the message")
        s.send("fast 1")
        check_numbers([], s.end())
    check(sum(call[0] == "request" for call in calls_of(spoor, "trace")) == 8, "calls are missing")


def test_threads(spoor, program):
    """A snapshot has the threads that run. Ended threads are in the next snapshot only."""
    with session(spoor, ["--overflow=overwrite"], program) as s:
        s.send("fast 1", "threads 3", "ended 5")
        ask(s, 1)
        s.send("fast 1")
        ask(s, 2)
        s.end()
    for number, threads, calls in (1, 9, 801), (2, 4, 302):
        found = [call[0] for call in calls_of(spoor, f"trace.{number}")].count("request")
        info = spoor.info(f"trace.{number}")
        check(info["threads"] == threads and found == calls and info["events"]["lost"] == 0,
              f"trace.{number}: {info['threads']} threads, {found} requests: {info}")


def test_ended_threads_are_forgotten(spoor, program):
    """Of 40 ended threads the last 16 keep their rings. The events of the others are lost."""
    with session(spoor, ["--overflow=overwrite", "--buffer=4K"], program) as s:
        s.send("ended 40")
        wait_for_ended_threads(s)
        ask(s, 1)
        s.end()
    info = spoor.info("trace.1")
    check(info["threads"] == 1 + 1 + 16, f"{info['threads']} threads")
    total = sum(info["events"].values())
    least = 40 * 100 * 2 * 4  # events of serve() and its callees, at least
    check(info["events"]["lost"] > 0 and total > least, f"{info['events']}")


def test_options_that_thin_out(spoor, program):
    for option, functions in ("-D2", {"main", "dispatch"}), ("-t100ms", {"main", "dispatch", "request", "crunch"}):
        with session(spoor, ["--overflow=overwrite", option, "-N_*", "-N*_tm_*", "-Nframe_dummy"], program) as s:
            s.send("fast 10", "slow 150")
            ask(s, 1)
            s.end()
        seen = {row["function"] for row in spoor.report("trace.1")}
        check(functions <= seen and not seen & {"look_up", "parse", "answer"}, f"{option}: {seen}")


def test_laps_are_told(spoor, program):
    with session(spoor, ["--trigger=rare>60m", "--buffer=4K"], program) as s:
        s.send("fast 3000000")
        stderr = s.end()
    check(re.search(r"spoor: \d+ events were overwritten before --trigger could look at them", stderr), stderr)


def test_a_full_disk(spoor, program):
    """A snapshot cannot be written: spoor prints a message and goes on. Nor can the trace: spoor has failed."""
    limit = 16384
    with session(spoor, ["--overflow=overwrite"], program) as s:
        s.send("fast 20000")
        resource.prlimit(s.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        for count in 1, 2:
            os.kill(s.process.pid, signal.SIGUSR1)
            s.wait_for(lambda: s.stderr().count("spoor: no snapshot for SIGUSR1: ") == count, "the message")
            s.send("fast 10")
        stderr = s.end(status=125)
    check(snapshots() == [] and os.path.exists("trace.1.part"), f"snapshots {snapshots()}")
    check("trace.1.part: cannot write the trace: File too large" in stderr, stderr)


def test_attached(spoor, program):
    """Snapshots of an attached process. SIGUSR1 goes to spoor; it would kill the process."""
    remove_traces()
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as traced:
        with open("errors", "w", encoding="utf-8") as errors:
            tracer = subprocess.Popen([spoor.path, "attach", "-o", "trace", "--trigger=rare", "--snapshot-gap=60m",
                                       str(traced.pid)], stderr=errors)
        deadline = time.monotonic() + PATIENCE_S
        try:
            for number, ask_for in (1, lambda: None), (2, lambda: tracer.send_signal(signal.SIGUSR1)):
                ask_for()
                while not os.path.exists(f"trace.{number}"):
                    check(time.monotonic() < deadline and tracer.poll() is None, f"no snapshot {number}: {messages()}")
                    traced.stdin.write("rare 1\n")
                    check(traced.stdout.readline() == "rare 1\n", "the program has ended")
            tracer.send_signal(signal.SIGINT)
            check(tracer.wait(PATIENCE_S) == 0, messages())
        finally:
            tracer.kill()
            tracer.wait()
        traced.stdin.close()
        check(traced.wait(PATIENCE_S) == STATUS, f"the program ended with {traced.returncode}")
    check_numbers([1, 2], messages())
    check("snapshots trace.1 to trace.2" in messages(), messages())
    for number, reason in (1, "rare"), (2, "SIGUSR1"):
        check(spoor.info(f"trace.{number}")["reason"] == reason, "wrong reason")
        check("rare" in {call[0] for call in calls_of(spoor, f"trace.{number}")}, "no call")


def refused(spoor, options, program):
    done = subprocess.run([spoor.path, "record", "-o", "trace", *options, "--", program], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)
    lines = done.stderr.splitlines()
    check(done.returncode == 125 and len(lines) == 1 and lines[0].startswith("spoor: ") and not done.stdout,
          f"{options}: status {done.returncode}: {done.stderr}")
    return lines[0]


def test_errors(spoor, program):
    for options, text in (
            (["--no-follow", "--trigger=reqest"], "trigger 'reqest': matches no function: did you mean request"),
            (["--trigger=rare", "--notrace=rare"], "trigger 'rare': matches 1 function, none of which is traced"),
            (["--trigger=rare", "--overflow=wait"], "'--trigger' goes with --overflow=overwrite"),
            (["--trigger=rare", "--overflow=drop"], "'--trigger' goes with --overflow=overwrite"),
            (["--trigger=rare>5parsecs"], "'rare>5parsecs' is not FUNC>TIME"),
            (["--trigger=rare>=5ms"], "'rare>=5ms' is not FUNC>TIME"),
            (["--trigger=>5ms"], "'>5ms' names no function"),
            (["--trigger=/(/"], "(/"),
            (["--trigger=rare", "-o", "/dev/null"], "/dev/null: is not a file"),
            (["--snapshots=0"], "--snapshots"), (["--snapshot-gap=soon"], "--snapshot-gap")):
        stderr = refused(spoor, options, program)
        check(text in stderr, f"{options}: {stderr}")


def test(spoor, program):
    for function in list(globals().values()):
        if callable(function) and getattr(function, "__name__", "").startswith("test_"):
            function(spoor, program)


if __name__ == "__main__":
    subject, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, traced))
