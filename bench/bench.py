#!/usr/bin/env python3
"""make bench: the costs of tracing, compared in one run with uftrace and with a floor (the cheapest possible event).

Prints a table and writes build/bench.json. Prices are medians of rounds. In each round all variants run in turn, so a
noisy machine affects them alike: read the ratios. This is not a test: no figure fails a build.
"""
import json
import os
import re
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SPOOR = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/spoor")
OUTPUT = sys.argv[2] if len(sys.argv) > 2 else "build/bench.json"
ROUNDS = int(os.environ.get("ROUNDS", "7"))
CALLS, DEPTH = "2000000", "27"
PLANNED = ("/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
           "/usr/bin/node", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
           "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1")
EXECUTABLE = 4  # a flag of ELF section headers


def run(command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **more).stdout


def build(directory):
    source = os.path.join(HERE, "calls.c")
    programs = {}
    for name, flags in {"plain": [], "floor": ["-DFLOOR"], "pg": ["-pg"]}.items():
        programs[name] = os.path.join(directory, name)
        run(["gcc", "-O2", "-fno-inline", *flags, source, "-o", programs[name]])
    library = os.path.join(directory, "libcalls.so")
    programs["library"] = os.path.join(directory, "library")
    run(["gcc", "-O2", "-fno-inline", "-DLIBRARY", "-fPIC", "-shared", source, "-o", library])
    run(["gcc", "-O2", "-DOUTER", source, library, "-Wl,-rpath," + directory, "-o", programs["library"]])
    return programs


def variants(programs, directory):
    trace, data = os.path.join(directory, "t.trace"), os.path.join(directory, "uftrace.data")
    record = [SPOOR, "record", "-q", "-o", trace]
    table = {
        "plain": [programs["plain"]],
        "floor": [programs["floor"]],
        "spoor, newest kept": [*record, "--overflow=overwrite", "--", programs["plain"]],
        "spoor, newest kept, a trigger armed": [*record, "--trigger=fib>60m", "--", programs["plain"]],
        "spoor, lossless": [*record, "--", programs["plain"]],
        "library": [programs["library"]],
        "spoor --libcalls, the library's own calls": [*record, "--libcalls", "--", programs["library"]],
    }
    if shutil.which("uftrace"):
        peer = ["uftrace", "record", "--no-libcall", "-d", data]
        table["uftrace, dynamic"] = [*peer, "-P", ".", programs["plain"]]
        table["uftrace, -pg"] = [*peer, programs["pg"]]
    return table


def price(programs, directory):
    """{variant: {kind of call: nanoseconds per call above the untraced program}}"""
    samples = {}
    for _ in range(ROUNDS):
        for name, command in variants(programs, directory).items():
            figures = json.loads(run([*command, CALLS, DEPTH]))
            for kind in ("leaf", "fib"):
                samples.setdefault((name, kind), []).append(figures[kind + "_ns"])
    result = {}
    for (name, kind), values in samples.items():
        base = statistics.median(samples["library" if "libra" in name else "plain", kind])
        result.setdefault(name, {})[kind] = statistics.median(values) - base
    floor = result["floor"]
    for figures in result.values():
        figures["of_floor"] = {k: figures[k] / floor[k] for k in ("leaf", "fib")}
    return result


def seconds(command):
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        run(command)
        best = min(best, time.perf_counter() - start)
    return best


def size(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(path, f)) for f in os.listdir(path))


def workloads():
    """Real programs with all of their own functions traced."""
    python = "import json\nfor i in range(300): json.loads(json.dumps([{'a': i, 'b': [1.5, 'x' * i]}] * 20))"
    sql = ("create table t(a, b); with recursive n(i) as (values(1) union all select i + 1 from n "
           "where i < 20000) insert into t select i, hex(i) from n; select sum(length(b)) from t;")
    table = {"python3": ["/usr/bin/python3", "-c", python], "sqlite3": ["sqlite3", ":memory:", sql]}
    return {name: command for name, command in table.items() if shutil.which(command[0])}


def bytes_per_call(programs, directory):
    trace = os.path.join(directory, "bytes.trace")
    result = {}
    for name, command in {"calls": [programs["plain"]], **workloads()}.items():
        module = ["-M", "*sqlite3*"] if name == "sqlite3" else []
        run([SPOOR, "record", "-q", "-o", trace, *module, "--", *command])
        info = json.loads(run([SPOOR, "info", "--json", trace]))
        calls = info["events"]["entry"]
        result[name] = {"calls": calls, "bytes_per_call": size(trace) / max(calls, 1),
                        "lost": info["events"]["lost"]}
    return result


def views(programs, directory):
    """Seconds per million events of views, for spoor and uftrace, over the same calls."""
    trace, data = os.path.join(directory, "v.trace"), os.path.join(directory, "v.data")
    run([SPOOR, "record", "-q", "-o", trace, "--", programs["plain"], CALLS, DEPTH])
    events = sum(json.loads(run([SPOOR, "info", "--json", trace]))["events"][k]
                 for k in ("entry", "exit")) / 1e6
    spoor_views = {"report": ["report"], "graph": ["graph"], "replay": ["replay"],
            "chrome": ["export", "--format=chrome"]}
    result = {name: {"spoor": seconds([SPOOR, *words, trace]) / events}
              for name, words in spoor_views.items()}
    result["report"]["events_per_s"] = 1e6 / result["report"]["spoor"]
    if shutil.which("uftrace"):
        run(["uftrace", "record", "--no-libcall", "-d", data, "-P", ".", programs["plain"], CALLS,
             DEPTH])
        uftrace_views = {"report": ["report"], "graph": ["graph"], "replay": ["replay"],
                  "chrome": ["dump", "--chrome"]}
        for name, words in uftrace_views.items():
            result[name]["uftrace"] = seconds(["uftrace", *words, "-d", data]) / events
    return result


def code_bytes(path):
    """The size of a file's executable sections."""
    with open(path, "rb") as f:
        head = f.read(64)
        offset, = struct.unpack_from("<Q", head, 40)
        size, count = struct.unpack_from("<HH", head, 58)
        f.seek(offset)
        table = f.read(size * count)
    headers = [struct.unpack_from("<IIQQQQ", table, i * size) for i in range(count)]
    return sum(h[5] for h in headers if h[2] & EXECUTABLE)


def processor_seconds(command):
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(command)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def planning():
    """Processor time for planning a file (and printing a table of it), on one core."""
    result = {}
    for path in PLANNED:
        if os.path.exists(path):
            s, size = processor_seconds([SPOOR, "explain", path]), code_bytes(path)
            result[os.path.basename(path)] = {"processor_s": s, "code_bytes": size,
                                              "mb_per_s": size / s / 1e6}
    return result


def stacks(directory):
    """Processor time that --stack adds to a call, by the number of open calls: of the calling thread (copying), and of
    all threads (also finding callers). Rings never fill. frames: the number of recorded callers."""
    program, trace = os.path.join(directory, "deep"), os.path.join(directory, "d.trace")
    calls = 10000
    run(["gcc", "-O2", os.path.join(HERE, "deep.c"), "-o", program])
    result = {}
    for depth in (2, 10, 30, 100):
        command = [program, str(depth), str(calls)]
        plain, stack = ([SPOOR, "record", "-q", "-o", trace, "-F", "leaf", "--buffer=512M", *options, "--", *command]
                        for options in ([], ["--stack=200"]))
        thread = [statistics.median(float(run(c)) for _ in range(ROUNDS)) for c in (plain, stack)]
        total = [processor_seconds(c) * 1e9 / calls for c in (plain, stack)]
        row = json.loads(run([SPOOR, "report", "--json", "--stack", trace]))[0]
        result[depth] = {"frames": len(row["stack"]), "end": row["stack_end"],
                         "thread_ns": thread[1] - thread[0], "total_ns": total[1] - total[0]}
    return result


def start_up(directory):
    trace = os.path.join(directory, "s.trace")
    result = {"untraced": seconds(["/bin/true"]),
              "spoor": seconds([SPOOR, "record", "-q", "-o", trace, "--", "/bin/true"]),
              "spoor -M '*'": seconds([SPOOR, "record", "-q", "-M", "*", "-o", trace, "--",
                                       "/bin/true"])}
    if shutil.which("uftrace"):
        data = os.path.join(directory, "s.data")
        result["uftrace, dynamic"] = seconds(["uftrace", "record", "-d", data, "-P", ".",
                                              "/bin/true"])
    return result


def show(result):
    print("\nPrice per call (entry and exit), ns above the untraced program; ratio to the floor")
    for name, f in result["price_ns"].items():
        if name in ("plain", "library"):
            continue
        r = f["of_floor"]
        print(f"  {name:<42} leaf {f['leaf']:7.1f} ({r['leaf']:.2f} x)   "
              f"recursion {f['fib']:7.1f} ({r['fib']:.2f} x)")
    print("\nBytes per call on disk")
    for name, f in result["bytes"].items():
        print(f"  {name:<22} {f['bytes_per_call']:6.2f}   ({f['calls']} calls, {f['lost']} lost)")
    print("\nViews: seconds per million events")
    for name, f in result["views"].items():
        peer = f"   uftrace {f['uftrace']:.3f}" if "uftrace" in f else ""
        print(f"  {name:<22} {f['spoor']:.3f}{peer}")
    print(f"  report reads {result['views']['report']['events_per_s'] / 1e6:.1f} million events/s")
    print("\nCallers (--stack): processor time that they add to a call, ns")
    for f in result["stacks"].values():
        print(f"  {f['frames']:3} callers {f['thread_ns']:9.0f} in the thread {f['total_ns']:9.0f} in all: "
              f"{f['thread_ns'] / f['frames']:.0f} and {f['total_ns'] / f['frames']:.0f} each")
    print("\nPlanning a file, processor time")
    for name, f in result["planning"].items():
        print(f"  {name:<22} {f['processor_s']:6.2f} s   {f['mb_per_s']:5.1f} MB of code a second")
    print("\nStart to end of a program that does nothing, ms")
    for name, s in result["start_up_s"].items():
        print(f"  {name:<22} {s * 1000:7.1f}")


def main():
    with tempfile.TemporaryDirectory() as directory:
        programs = build(directory)
        cpu = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
        result = {"cpu": cpu.group(1) if cpu else "", "rounds": ROUNDS,
                  "price_ns": price(programs, directory),
                  "bytes": bytes_per_call(programs, directory),
                  "views": views(programs, directory), "planning": planning(),
                  "start_up_s": start_up(directory), "stacks": stacks(directory)}
    with open(OUTPUT, "w") as out:
        json.dump(result, out, indent=2)
    show(result)


main()
