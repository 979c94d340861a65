"""All views of a trace agree: test_agree.py WRITER SPOOR [real | SEED...]

Traces of random programs with four threads, exceptions, tail calls, lost events and a second stack for each thread.
Their streams are longer than one read of the reader. Some have calls that were open at attach, and pauses. In some the
second stacks move from thread to thread.
"""
import collections
import csv
import io
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile

import parquet_reader

writer, spoor = (os.path.abspath(path) for path in sys.argv[1:3])
POOLS = 3  # this seed, and larger ones, make threads that share stacks
FUNCTIONS, THREADS, NATIVE, SECOND = 12, 4, 0x1f000, 0x80f000

Call = collections.namedtuple("Call", "start duration tid depth function how before")


def second_stack(i):
    return SECOND + i * 0x100000


def pause(rng, stacks):
    """Returns the calls that are open after a pause."""
    for base, frames in stacks.items():
        del frames[rng.randrange(len(frames) + 1):]
        for _ in range(rng.randrange(4)):
            frames.append((rng.randrange(1, FUNCTIONS + 1), base - 64 * len(frames)))
    return ",".join(f"{f}@{sp:x}" for frames in stacks.values() for f, sp in frames[:7]) or "-"


def step(rng, base, frames):
    """Makes an event on a stack below BASE."""
    if not frames or (len(frames) < 30 and rng.random() < 0.5):
        frames.append((rng.randrange(1, FUNCTIONS + 1), base - 64 * len(frames)))
        return f"enter {frames[-1][0]} {frames[-1][1]:x}"
    if rng.random() < 0.05:  # frames below are unwound
        del frames[rng.randrange(len(frames)) + 1:]
    function, sp = frames.pop()
    return f"{'tail' if rng.random() < 0.1 else 'return'} {function} {sp:x}"


def pool_events(rng):
    """(ticks, text) of the events of all threads, which share their second stacks."""
    native = [[] for _ in range(THREADS)]
    shared = [[] for _ in range(THREADS + 2)]
    ticks, stream = 5, 0
    for _ in range(4000):
        ticks += rng.choice((1, 5, 40, 40, 2000))
        stream = rng.randrange(THREADS) if rng.random() < 0.2 else stream
        i = rng.randrange(len(shared))
        on_own = rng.random() < 0.5
        base, frames = (NATIVE, native[stream]) if on_own else (second_stack(i), shared[i])
        if rng.random() < 0.003:
            yield ticks, f"{stream} lost {rng.randrange(1, 9)}"
        else:
            yield ticks, f"{stream} {step(rng, base, frames)}"
    for stream in range(THREADS):
        yield ticks + 7 + stream, f"{stream} end"


def thread_events(rng, stream):
    """(ticks, text) of the events of one thread, with stack pointers like those of real frames."""
    bases = NATIVE, second_stack(stream)
    ticks, stacks = rng.randrange(1000), {base: [] for base in bases}
    if rng.random() < 0.5:
        yield ticks, f"{stream} frames {pause(rng, stacks)}"
    for _ in range(rng.choice((40, 3000))):
        ticks += rng.choice((1, 5, 40, 40, 2000))
        base = bases[rng.random() < 0.1]
        frames = stacks[base]
        if rng.random() < 0.003:
            yield ticks, f"{stream} frames {pause(rng, stacks)}"
            ticks += 1
        if rng.random() < 0.003:
            yield ticks, f"{stream} lost {rng.randrange(1, 9)}"
        else:
            yield ticks, f"{stream} {step(rng, base, frames)}"
    if rng.random() < 0.5:
        yield ticks + 7, f"{stream} end"


def describe(seed):
    rng = random.Random(seed)
    lines = ["process 9 prog"] + [f"function f{i}" for i in range(FUNCTIONS)] + ["module prog"]
    lines += [f"thread 9 {100 + i} t{i}" for i in range(THREADS)]
    if seed >= POOLS:
        events = pool_events(rng)
    else:
        events = [event for i in range(THREADS) for event in thread_events(rng, i)]
    return "\n".join(lines + [f"{ticks} {what}" for ticks, what in sorted(events)]) + "\n"


def view(trace, *arguments):
    done = subprocess.run([spoor, *arguments, trace], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def calls_of_csv(trace, *options):
    rows = csv.DictReader(io.StringIO(view(trace, "export", "--format=csv", *options)))
    return sorted(Call(int(r["start_ns"]), int(r["duration_ns"]), int(r["tid"]), int(r["depth"]),
                       r["function"], r["how"], r["before"] == "1") for r in rows)


def calls_of_json(trace, *options):
    """Pairs entries with exits; each exit must fit an open entry. Leaves out the ends of open calls."""
    last, done, opened = 0, [], collections.defaultdict(list)
    for line in view(trace, "replay", "--json", *options).splitlines():
        o = json.loads(line)
        assert last <= o["t_ns"], ("not in the order of time", line)
        last = o["t_ns"]
        key = o.get("began_tid", o["tid"]), o["depth"], o["function"], "before" in o
        if o["kind"] == "entry":
            opened[key].append(o["t_ns"])
        elif o["kind"] not in ("lost", "pause") and "open" not in o:
            start = o["t_ns"] - o["duration_ns"] - o.get("paused_ns", 0)
            opened[key].remove(start)
            how = "inferred" if "inferred" in o else o["kind"] if o["kind"] in ("unwound", "cut") else \
                "tail" if "tail" in o else "returned"
            done.append(Call(start, o["duration_ns"], *key[:3], how, key[3]))
    return sorted(done), sorted((start, *key) for key in opened for start in opened[key])


def still_open(trace, *options):
    """(start, thread, depth, function) of the calls that replay --json shows no end of."""
    opened = collections.Counter()
    for o in map(json.loads, view(trace, "replay", "--json", *options).splitlines()):
        key = o.get("began_tid", o["tid"]), o["depth"], o["function"]
        if o["kind"] == "entry":
            opened[o["t_ns"], *key] += 1
        elif o["kind"] in ("exit", "unwound", "cut"):
            opened[o["t_ns"] - o["duration_ns"] - o.get("paused_ns", 0), *key] -= 1
    return +opened


def check_json(trace, *options):
    calls = calls_of_csv(trace, *options)
    done, opened = calls_of_json(trace, *options)
    assert done == [c for c in calls if c.how != "open"], options
    assert opened == sorted((c.start, c.tid, c.depth, c.function, c.before) for c in calls
                            if c.how == "open"), options
    return calls


def check_text(trace, *options):
    """The text has the same number of calls, in the order of time up to the ends of open calls."""
    lines = view(trace, "replay", "--time", *options).splitlines()
    calls = calls_of_csv(trace, *options)
    begun = [line for line in lines if re.search(r"\| *(\[\d+\] )?f\d+\(\)", line)]
    assert len(begun) == len(calls), options
    times = [float(line.split()[0].rstrip("s")) for line in begun]
    assert times == sorted(times), options
    for how in ("unwound", "inferred", "cut"):
        assert sum(how in line for line in lines) == sum(c.how == how for c in calls), options
    assert sum("before" in line for line in begun) == sum(c.before for c in calls), options


def check_nesting(events):
    """As viewers read them, in the order of their begins and else of the file, calls of a thread nest."""
    for thread in {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}:
        spans = [(round(e["ts"] * 1000), round(e["dur"] * 1000), e["name"]) for e in events
                 if e["ph"] == "X" and (e["pid"], e["tid"]) == thread]
        ends = []
        for start, duration, name in sorted(spans, key=lambda span: span[0]):
            while ends and ends[-1] <= start:
                ends.pop()
            assert not ends or start + duration <= ends[-1], (thread, start, duration, name)
            ends.append(start + duration)


def speedscope(trace, *options):
    """(calls, self time) by function, of events that must nest, and whose times must not step back."""
    calls, own = collections.Counter(), collections.Counter()
    exported = json.loads(view(trace, "export", "--format=speedscope", *options))
    for profile in exported["profiles"]:
        path, last = [], profile["startValue"]
        for event in profile["events"]:
            name = exported["shared"]["frames"][event["frame"]]["name"].removesuffix(" [cut]")
            assert event["at"] >= last, (profile["name"], event)
            if path:
                own[path[-1]] += event["at"] - last
            last = event["at"]
            if event["type"] == "O":
                path.append(name)
                calls[name] += 1
            else:
                assert path.pop() == name, (profile["name"], event)
        assert not path and last == profile["endValue"]
    return calls, own


def firefox(trace, *options):
    """Self time by function, and the total time of each stack of functions."""
    own, paths = collections.Counter(), collections.Counter()
    for thread in json.loads(view(trace, "export", "--format=firefox", *options))["threads"]:
        samples, stacks = thread["samples"], thread["stackTable"]
        columns = samples["stack"], samples["time"], samples["weight"]
        assert {len(column) for column in columns} == {samples["length"]}
        assert samples["time"] == sorted(samples["time"])
        names = []
        for frame, prefix in zip(stacks["frame"], stacks["prefix"], strict=True):
            name = thread["stringArray"][thread["funcTable"]["name"][thread["frameTable"]["func"][frame]]]
            names.append((() if prefix is None else names[prefix]) + (name,))
        assert len(set(names)) == len(names) == stacks["length"]
        for stack, weight in zip(samples["stack"], samples["weight"], strict=True):
            ns = round(weight * 1e6)
            assert stack is not None or ns == 0
            if stack is not None:
                plain = tuple(name.removesuffix(" [cut]") for name in names[stack])
                own[plain[-1]] += ns
                paths[plain] += ns
    return own, paths


def check_tracks(trace, *options):
    """The formats whose calls nest have the numbers of calls and self times of report."""
    rows = json.loads(view(trace, "report", "--json", *options))
    right = collections.Counter()
    for row in rows:
        right[row["function"]] += row["self_ns"]
    calls, own = speedscope(trace, *options)
    counts = collections.Counter()
    for row in rows:
        counts[row["function"]] += row["calls"] + row["before"]
    assert calls == counts, options
    assert own == right, (own, right, options)
    own, paths = firefox(trace, *options)
    assert own == right, (own, right, options)
    return paths


def check_parquet(trace, *options):
    """The rows are those of CSV, in the same order, and each has its caller."""
    done = subprocess.run([spoor, "export", "--format=parquet", "--host=h", *options, trace], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    columns, metadata = parquet_reader.read(done.stdout)
    began = int(metadata["spoor.start_unix_ns"])
    assert began == json.loads(view(trace, "info", "--json"))["start_unix_ns"]
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    names = {"how": "ended"}
    lines = list(csv.DictReader(io.StringIO(view(trace, "export", "--format=csv", *options))))
    assert len(lines) == len(rows) > 0
    for line, row in zip(lines, rows):
        assert row["start_ns"] - began == int(line["start_ns"]) and row["host"] == "h"
        for key in ("duration_ns", "pid", "tid", "depth", "before", "paused_ns", "clipped"):
            assert row[key] == int(line[key]), (key, line, row)
        for key in ("function", "module", "how"):
            assert row[names.get(key, key)] == line[key], (key, line, row)
    by_id = {row["id"]: row for row in rows}
    assert len(by_id) == len(rows)
    callees = collections.Counter()
    for row in rows:
        caller = by_id.get(row["parent_id"])
        assert (caller is None) == (row["depth"] == 0) == (row["parent_id"] is None), row
        if caller:
            assert caller["depth"] == row["depth"] - 1 and caller["start_ns"] <= row["start_ns"], (caller, row)
            callees[caller["id"]] += row["duration_ns"]
    if not options:
        assert all(row["self_ns"] == row["duration_ns"] - callees[row["id"]] for row in rows)


def check_exports(trace):
    calls = calls_of_csv(trace)
    events = json.loads(view(trace, "export", "--format=chrome"))["traceEvents"]
    phases = collections.Counter(e["ph"] for e in events)
    assert phases["X"] + phases["b"] == len(calls) and phases["b"] == phases["e"]
    check_nesting(events)
    folded = [line.rsplit(" ", 1) for line in view(trace, "export", "--format=folded").splitlines()]
    assert sum(int(ns) for _, ns in folded) == sum(c.duration for c in calls if c.depth == 0)
    assert len({path for path, _ in folded}) == len(folded)


def busy(calls, shown):
    """The total time in which a call of CALLS (of one thread) and one of SHOWN are open."""
    total, start, end, counts = 0, 0, 0, False
    for c in calls:  # in the order of start
        if c.start >= end:
            total += counts * (end - start)
            start, counts = c.start, False
        end = max(end, c.start + c.duration)
        counts = counts or c in shown
    return total + counts * (end - start)


def without_brief(options):
    """OPTIONS without those that hide calls with all that they call."""
    for option in "-t", "-C":
        at = options.index(option) if option in options else len(options)
        options = options[:at] + options[at + 2:]
    return options


def check_report(trace, *options):
    calls, brief_too = calls_of_csv(trace, *options), calls_of_csv(trace, *without_brief(options))
    rows = {row["function"]: row for row in json.loads(view(trace, "report", "--json", *options))}
    assert set(rows) == {c.function for c in calls}, options
    left = collections.Counter(o["function"] for o in
                               map(json.loads, view(trace, "replay", "--json", *options).splitlines())
                               if o["kind"] == "unwound" and "before" not in o)
    without_end = still_open(trace, *options)
    for name, row in rows.items():
        every = [c for c in calls if c.function == name]
        recorded = [c for c in every if not c.before]
        last = [c for c in recorded if (c.start, c.tid, c.depth, c.function) in without_end]
        assert row["open"] == len(last), (name, row, last, options)
        durations = sorted(c.duration for c in recorded if c.how != "cut" and c not in last) or [0]
        total = sum(busy([c for c in brief_too if c.function == name and c.tid == tid], set(every))
                    for tid in {c.tid for c in every})
        assert row["before"] == len(every) - len(recorded), (name, row, options)
        assert row["calls"] == len(recorded) and row["total_ns"] == total, (name, row, options)
        assert row["unwound"] == left[name], (name, row, options)
        assert row["cut"] == sum(c.how == "cut" for c in recorded), (name, row, options)
        assert (row["min_ns"], row["max_ns"]) == (durations[0], durations[-1]), (name, row, options)
        for percent in (50, 99):
            right = durations[-(-len(durations) * percent // 100) - 1]
            assert abs(row[f"p{percent}_ns"] - right) <= right / 100, (name, row, options)
    return rows


def nodes(node):
    for child in node["children"]:
        yield child
        yield from nodes(child)


def check_graph(trace, *options):
    rows = check_report(trace, *options)
    graph = json.loads(view(trace, "graph", "--json", *options))
    assert graph["total_ns"] == sum(child["total_ns"] for child in graph["children"])
    is_part = any("since" in word or "until" in word for word in options)  # callees may be outside of it
    own = sum(row["self_ns"] for row in rows.values())
    assert graph["total_ns"] == own or (is_part and graph["total_ns"] > own), options
    for key in ("calls", "before", "self_ns"):
        sums = collections.Counter()
        for node in nodes(graph):
            sums[node["name"]] += node[key]
        assert sums == collections.Counter({name: row[key] for name, row in rows.items()}), options
    for node in nodes(graph):
        inner = sum(child["total_ns"] for child in node["children"])
        whole = node["self_ns"] + inner
        assert node["total_ns"] == whole or (is_part and node["total_ns"] > whole), (node["name"], options)


def check_subtrees(trace, calls):
    """--callees and -C show the calls below and above those of a function; graph FUNCTION has the same."""
    focus = json.loads(subprocess.run([spoor, "graph", "--json", trace, "f3"], stdout=subprocess.PIPE, check=True).stdout)
    below = collections.Counter({"f3": focus["calls"] + focus["before"]})
    for node in nodes(focus):
        below[node["name"]] += node["calls"] + node["before"]
    shown = calls_of_csv(trace, "-F", "f3", "--callees")
    assert collections.Counter(c.function for c in shown) == below
    assert all(c.function == "f3" for c in shown if c.depth == 0)
    ways = calls_of_csv(trace, "-C", "f3")
    assert ways and set(ways) <= set(calls)
    assert [c for c in ways if c.function == "f3"] == [c for c in calls if c.function == "f3"]
    graph = json.loads(view(trace, "graph", "--json", "-C", "f3"))
    assert all(n["name"] == "f3" or any(m["name"] == "f3" for m in nodes(n)) for n in nodes(graph))
    hidden = json.loads(view(trace, "report", "--json", "--hide", "f3"))
    assert hidden == [row for row in json.loads(view(trace, "report", "--json")) if row["function"] != "f3"]
    silent = json.loads(view(trace, "graph", "--json", "--hide", "f3"))
    own = collections.Counter()
    for node in nodes(silent):
        own[node["name"]] += node["self_ns"]
    assert own == collections.Counter({row["function"]: row["self_ns"] for row in hidden})


def check_slowest(trace, calls):
    slow = json.loads(view(trace, "report", "--json", "--slowest=7", "-F", "f3"))
    durations = sorted((c.duration for c in calls if c.function == "f3" and c.how != "cut" and not c.before), reverse=True)
    assert [call["duration_ns"] for call in slow] == durations[:7]
    for call in slow:
        words = shlex.split(call["command"])
        assert words[:2] == ["spoor", "replay"] and words[-1] == trace
        lines = [json.loads(line) for line in view(trace, *words[1:-1], "--json").splitlines()]
        assert any((o["kind"], o["function"], o["t_ns"]) == ("entry", "f3", call["t_ns"]) for o in lines), call


def paths(node, above=()):
    """(path, node) of all below NODE, without nodes of processes."""
    for child in node["children"]:
        path = above if "pid" in child else above + (child["name"],)
        if "pid" not in child:
            yield path, child
        yield from paths(child, path)


def check_diff(trace, *options):
    """Both sides have the figures of report, and paths those of graph. A trace does not differ from itself."""
    keys = ("calls", "total_ns", "self_ns", "p50_ns", "p99_ns", "inferred", "before", "cut", "open", "clipped")
    rows = {row["function"]: row for row in json.loads(view(trace, "report", "--json", *options))}
    compared = json.loads(view(trace, "diff", "--json", *options, trace))
    assert len(compared) == len(rows) > 0
    for row in compared:
        assert all(row[key] == [rows[row["function"]][key]] * 2 for key in keys), (row, options)
        assert "only" not in row
    sums = collections.defaultdict(collections.Counter)
    for path, node in paths(json.loads(view(trace, "graph", "--json", *options))):
        sums[path].update({key: node[key] for key in keys if key in node})
    compared = json.loads(view(trace, "diff", "--json", "--by-path", *options, trace))
    assert len(compared) == len({tuple(row["path"]) for row in compared}) > 0
    for row in compared:
        figures = sums.pop(tuple(row["path"]))
        assert all(row[key] == [value] * 2 for key, value in figures.items()), (row, figures, options)
        assert row["path"][-1] == row["function"]
    assert not any(figures["calls"] + figures["before"] for figures in sums.values())
    assert view(trace, "diff", *options, trace).startswith(("nothing differs: ", "«", "¦", "↔", "≈"))


def flat(calls):
    return sorted(c._replace(depth=0) for c in calls)


def check(trace):
    calls = check_json(trace)
    assert len(calls) > 50
    for options in (["-t", "1us"], ["-D", "3"], ["--since=30us"], ["--until=30us"], ["-N", "f3"],
                    ["--since=20us", "--until=90us", "-t", "300"], ["--tid=102"],
                    ["-C", "f3"], ["-C", "f3", "--since=20us", "--until=90us"], ["-F", "f3", "--callees"],
                    ["-F", "f3", "--callees", "-t", "300", "--tid=101"]):
        check_json(trace, *options)
        check_text(trace, *options)
        check_graph(trace, *options)
        check_diff(trace, *options)
        if not any("since" in word or "until" in word for word in options):
            check_tracks(trace, *options)
        check_parquet(trace, *options)
    check_text(trace)
    check_graph(trace)
    check_diff(trace)
    check_tracks(trace)
    check_parquet(trace)
    check_exports(trace)
    check_subtrees(trace, calls)
    check_slowest(trace, calls)
    assert calls_of_csv(trace, "-t", "700") == [c for c in calls if c.duration >= 700 or c.before]
    assert calls_of_csv(trace, "-D", "2") == [c for c in calls if c.depth < 2]
    # Callers that began in another thread are hidden.
    assert flat(calls_of_csv(trace, "--tid", "101")) == flat(c for c in calls if c.tid == 101)


def check_real(directory):
    """A trace of ls with all its libraries: JSON is valid, entries and exits pair up, and CSV has the same calls."""
    trace = os.path.join(directory, "t")
    done = subprocess.run([spoor, "record", "-q", "-o", trace, "-M", "*", "--", "ls", "-l", directory],
                          stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == 0
    calls = check_json(trace)
    assert len(calls) > 1000
    check_json(trace, "-t", "10us")
    for row in json.loads(view(trace, "diff", "--json", trace)):
        assert all(pair[0] == pair[1] for pair in row.values() if isinstance(pair, list)), row
    assert calls_of_csv(trace, "-t", "10us") == [c for c in calls if c.duration >= 10000]
    check_parquet(trace)
    totals, own, name = collections.Counter(), collections.Counter(), None
    for path, ns in check_tracks(trace).items():
        for name in set(path):
            totals[name] += ns
    rows = json.loads(view(trace, "report", "--json"))
    names = collections.Counter(row["function"] for row in rows)
    for row in rows:
        assert names[row["function"]] > 1 or totals[row["function"]] == row["total_ns"], (row, totals[row["function"]])
    calls_of, own = speedscope(trace, "--hide", name)
    hidden = next(row for row in rows if row["function"] == name)
    assert names[name] > 1 or own["[hidden]"] == hidden["self_ns"] and calls_of["[hidden]"] == hidden["calls"]
    events = json.loads(view(trace, "export", "--format=chrome"))["traceEvents"]
    assert sum(e["ph"] in "Xb" and e["cat"] != "spoor" for e in events) == len(calls)


if sys.argv[3:] == ["real"]:
    with tempfile.TemporaryDirectory() as scratch:
        check_real(scratch)
        sys.exit()
for seed in map(int, sys.argv[3:]):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t")
        subprocess.run([writer, path], input=describe(seed), text=True, check=True)
        check(path)
