"""The kernel's uprobes, in an emulated machine: probes in a program need a kernel that may be changed.

An emulated processor's nanoseconds mean nothing. So the figures are parts: of the untraced program and of spoor, in
the same machine.
"""
import json
import os
import subprocess
import sys

from measure import Table, cell, median, run

HERE = os.path.dirname(os.path.abspath(__file__))
GUEST = os.path.join(HERE, "..", "..", "test", "guest")
PACKAGES = ["libdw1", "libzydis4.0", "libzstd1", "zlib1g", "liblzma5", "libelf1"]
CALLS, DEPTH = "20000", "14"
FUNCTIONS = "leaf", "fib"
TEXT = ("In a machine that QEMU emulates, with Debian's kernel. A call, in parts of the untraced call and of spoor's "
        "price with the newest kept. Uprobes: one at the entry and one at the return of each function, in a buffer of "
        "the kernel. An emulated processor has other prices for traps and for memory than a real one.")
PROBED = """
mount -t tracefs t /sys/kernel/tracing
cd /sys/kernel/tracing
%(add)s
echo 1 >events/uprobes/enable
echo 1 >tracing_on
cd - >/dev/null
for round in %(rounds)s; do %(program)s %(calls)s %(depth)s; done
echo 0 >/sys/kernel/tracing/events/uprobes/enable
"""


def offsets(program):
    """{function: offset in the file}. The program's code is mapped as it is in the file."""
    text = subprocess.run(["readelf", "-lW", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    loads = [line.split() for line in text.splitlines() if line.split()[:1] == ["LOAD"]]
    symbols = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for at, _, name in (line.split() for line in symbols.splitlines() if len(line.split()) == 3):
        if name in FUNCTIONS:
            load = next(w for w in loads if int(w[2], 16) <= int(at, 16) < int(w[2], 16) + int(w[5], 16))
            found[name] = int(at, 16) - int(load[2], 16) + int(load[1], 16)
    return found


def scripts(bench, program):
    """{name: shell script that prints the program's figures once a round}"""
    rounds = " ".join(map(str, range(bench.rounds)))
    loop = f"for round in {rounds}; do %s {program} {CALLS} {DEPTH}; done"
    add = "\n".join(f"echo '{kind}:{kind}_{name} {program}:{at:#x}' >>uprobe_events"
                    for name, at in offsets(program).items() for kind in "pr")
    return {"untraced": loop % "", "spoor, newest kept": loop % "/bin/spoor record -q --overflow=overwrite --",
            "spoor, lossless": loop % "/bin/spoor record -q --",
            "uprobes": PROBED % {"add": add, "rounds": rounds, "program": program, "calls": CALLS, "depth": DEPTH}}


def in_guest(bench, machine, program):
    """{name: [figures of a round]}"""
    cache = os.path.join(os.path.dirname(bench.spoor), "test", "guest", "debian")
    guest = machine.Guest("amd64", cache, PACKAGES)
    guest.add(bench.spoor, "/bin/spoor")
    guest.add(program)
    table = scripts(bench, program)
    guest.job("uprobes", [(f"s{i}", ["sh", "-c", text]) for i, text in enumerate(table.values())])
    before = os.getcwd()
    os.chdir(bench.folder)
    try:
        wrong = guest.boot()
        if wrong:
            raise machine.Unavailable(wrong)
        results = {}
        for i, name in enumerate(table):
            with open(f"results/uprobes/s{i}.out", encoding="utf-8") as out, \
                    open(f"results/uprobes/s{i}.err", encoding="utf-8") as errors:
                results[name] = [json.loads(line) for line in out if line.startswith("{")]
                if not results[name]:
                    raise machine.Unavailable(f"{name}: {errors.read()}")
        return results
    finally:
        os.chdir(before)


def measure(bench):
    sys.path.append(GUEST)
    import machine  # pylint: disable=import-outside-toplevel
    table = Table("Kernel uprobes", ["leaf, of untraced", "leaf, of spoor", "recursion, of untraced",
                                     "recursion, of spoor"], TEXT, plot=[1, 3])
    program = bench.path("probed")
    run(["gcc", "-O2", "-fno-inline", os.path.join(HERE, "..", "calls.c"), "-o", program])
    try:
        results = in_guest(bench, machine, program)
    except machine.Unavailable as why:
        table.text += f" Not measured: {str(why).strip()[:300]}"
        return [table]
    untraced = {kind: median([r[kind] for r in results["untraced"]]) for kind in ("leaf_ns", "fib_ns")}
    spoor = {kind: median([r[kind] for r in results["spoor, newest kept"]]) - untraced[kind]
             for kind in ("leaf_ns", "fib_ns")}
    for name, rounds in results.items():
        cells = []
        for kind in ("leaf_ns", "fib_ns"):
            cells.append(cell([r[kind] / untraced[kind] for r in rounds]))
            cells.append(None if name == "untraced" else
                         cell([(r[kind] - untraced[kind]) / spoor[kind] for r in rounds]))
        table.row(name, cells)
    return [table]
