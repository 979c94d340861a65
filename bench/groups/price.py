"""The price of a call, compared with the cheapest possible event and with a peer."""
import json
import os
import shutil

from measure import Table, cell, median, run

CALLS, DEPTH = "2000000", "27"
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "calls.c")
TEXT = ("Nanoseconds that a call takes (entry and exit), besides those of the untraced program; and in parts of the "
        "floor, a program whose functions take two time stamps and store 32 bytes by themselves. The functions do next "
        "to nothing, so this is the worst case.")


def build(bench):
    """{name: path} of bench/calls.c in several builds."""
    programs = {}
    for name, flags in {"calls": [], "floor": ["-DFLOOR"], "calls-pg": ["-pg"]}.items():
        programs[name] = bench.path(name)
        run(["gcc", "-O2", "-fno-inline", *flags, SOURCE, "-o", programs[name]])
    library = bench.path("libcalls.so")
    programs["library"] = bench.path("library")
    run(["gcc", "-O2", "-fno-inline", "-DLIBRARY", "-fPIC", "-shared", SOURCE, "-o", library])
    run(["gcc", "-O2", "-DOUTER", SOURCE, library, "-Wl,-rpath," + bench.folder, "-o", programs["library"]])
    return programs


def variants(bench, programs):
    calls = programs["calls"]
    table = {
        "untraced": [calls],
        "floor": [programs["floor"]],
        "newest kept": [*bench.record("--overflow=overwrite"), calls],
        "newest kept, a trigger armed": [*bench.record("--trigger=fib>60m"), calls],
        "lossless": [*bench.record(), calls],
        "lossless, --buffer=64K": [*bench.record("--buffer=64K"), calls],
        "lossless, one core for all": bench.on_cores(1, [*bench.record(), calls]),
        "lossless, -D 3": [*bench.record("-D", "3"), calls],
        "lossless, -t 10us": [*bench.record("-t", "10us"), calls],
        "library, untraced": [programs["library"]],
        "--libcalls, the library's own calls": [*bench.record("--libcalls"), programs["library"]],
    }
    if shutil.which("uftrace"):
        peer = ["uftrace", "record", "--no-libcall", "-d", bench.path("uftrace.data")]
        table["uftrace, dynamic"] = [*peer, "-P", ".", calls]
        table["uftrace, -pg"] = [*peer, programs["calls-pg"]]
    return {name: [*command, CALLS, DEPTH] for name, command in table.items()}


def measure(bench):
    commands = variants(bench, build(bench))
    samples = bench.in_turn(commands, lambda command: json.loads(run(command)))
    table = Table("Price of a call", ["leaf, ns", "of the floor", "recursion, ns", "of the floor"], TEXT, plot=[1, 3])

    def above(name, kind):
        base = "library, untraced" if "librar" in name else "untraced"
        base = median([figures[kind] for figures in samples[base]])
        return [figures[kind] - base for figures in samples[name]]

    for name, command in commands.items():
        cells = []
        for kind in ("leaf_ns", "fib_ns"):
            floor, values = median(above("floor", kind)), above(name, kind)
            cells += [cell(values), cell([value / floor for value in values])]
        if not name.endswith("untraced"):
            table.row(name, cells, bench.shown(command))
    return [table]
