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
PACKAGES = ["libdw1", "libzydis4.0", "libzstd1", "zlib1g", "liblzma5", "libelf1", "libbpf1", "bpftrace"]
FUNCTIONS = {"leaf": "", "fib": ""}
ARGUMENTS = {"numbers": " a=%di:s32 b=%si:s64 c=%dx:u64", "text": " s=+0(%di):string",
             "member": " price=+8(+8(%di)):s64"}  # what the kernel is asked to fetch
STRUCTS = "struct inner { long id; long price; }; struct outer { char *name; struct inner *inner; };"
PRINTED = {"numbers": "printf(\"%d %ld %lu\\n\", (int32)arg0, arg1, arg2);", "text": "printf(\"%s\\n\", str(arg0));",
           "member": "printf(\"%ld\\n\", ((struct outer *)arg0)->inner->price);"}  # what bpftrace is asked to print
COUNTED = {name: f"@{name} = count();" for name in PRINTED}
ASKED = "-A numbers -A text -A 'member@o->inner->price'"
NEWEST = "/bin/spoor record -q --overflow=overwrite "
TEXT = ("In a machine that QEMU emulates, with Debian's kernel. A call, in parts of the untraced call and of spoor's "
        "price with the newest kept. Uprobes: one at the entry and one at the return of each function, in a buffer of "
        "the kernel. An emulated processor has other prices for traps and for memory than a real one.")
VALUES_TEXT = ("In the same machine: a call with its arguments, in parts of spoor's price with the newest kept. The "
               "kernel's uprobes fetch them (fetchargs). bpftrace has probes at entries only, prints a line for each "
               "call, or only counts the calls.")
PROBED = """
mount -t tracefs t /sys/kernel/tracing
cd /sys/kernel/tracing
%(add)s
echo 1 >events/uprobes/enable
echo 1 >tracing_on
cd - >/dev/null
for round in %(rounds)s; do %(command)s; done
echo 0 >/sys/kernel/tracing/events/uprobes/enable
echo >/sys/kernel/tracing/uprobe_events
"""
BPFTRACE = """
mount -t tracefs t /sys/kernel/tracing 2>/dev/null
bpftrace --unsafe -o /dev/null -e '%(script)s' &
until [ -e attached ]; do kill -0 $! || exit 1; sleep 1; done
for round in %(rounds)s; do %(command)s; done
kill -INT $!
wait
rm attached
"""


def offsets(program, functions):
    """{function: offset in the file}. The program's code is mapped as it is in the file."""
    text = subprocess.run(["readelf", "-lW", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    loads = [line.split() for line in text.splitlines() if line.split()[:1] == ["LOAD"]]
    symbols = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for at, _, name in (line.split() for line in symbols.splitlines() if len(line.split()) == 3):
        if name in functions:
            load = next(w for w in loads if int(w[2], 16) <= int(at, 16) < int(w[2], 16) + int(w[5], 16))
            found[name] = int(at, 16) - int(load[2], 16) + int(load[1], 16)
    return found


class Scripts:
    """Shell scripts that print a program's figures once a round. FUNCTIONS: {name: what is fetched at its entry}"""

    def __init__(self, bench, command, functions):
        self.rounds = " ".join(map(str, range(bench.rounds)))
        self.command, self.functions, self.program = " ".join(command), functions, command[0]

    def under(self, tool=""):
        return f"for round in {self.rounds}; do {tool} {self.command}; done"

    def probed(self, fetches=False):
        lines = []
        for name, at in offsets(self.program, self.functions).items():
            lines += [f"p:p_{name} {self.program}:{at:#x}{self.functions[name] if fetches else ''}",
                      f"r:r_{name} {self.program}:{at:#x}"]
        add = "\n".join(f"echo '{line}' >>uprobe_events" for line in lines)
        return PROBED % {"add": add, "rounds": self.rounds, "command": self.command}

    def under_bpftrace(self, actions):
        """ACTIONS: {name: what is done at its entry}"""
        script = STRUCTS + " BEGIN { system(\"touch attached\"); }"
        script += "".join(f" uprobe:{self.program}:{name} {{ {done} }}" for name, done in actions.items())
        return BPFTRACE % {"script": script, "rounds": self.rounds, "command": self.command}


def scripts(bench, program, values):
    """{name: script}"""
    calls = Scripts(bench, [program, "20000", "14"], FUNCTIONS)
    arguments, fewer = (Scripts(bench, [values, calls], ARGUMENTS) for calls in ("20000", "2000"))
    chosen = " ".join(f"-F {name}" for name in ARGUMENTS)
    return {"untraced": calls.under(), "spoor, newest kept": calls.under(NEWEST + "--"),
            "spoor, lossless": calls.under("/bin/spoor record -q --"), "uprobes": calls.probed(),
            "values": arguments.under(), "values, spoor": arguments.under(f"{NEWEST} {chosen} {ASKED} --"),
            "values, spoor without": arguments.under(f"{NEWEST} {chosen} --"),
            "values, uprobes": arguments.probed(True), "values, uprobes without": arguments.probed(),
            "values, bpftrace": fewer.under_bpftrace(PRINTED),
            "values, bpftrace without": fewer.under_bpftrace(COUNTED)}


def in_guest(bench, machine, programs):
    """{name: [figures of a round]}"""
    cache = os.path.join(os.path.dirname(bench.spoor), "test", "guest", "debian")
    guest = machine.Guest("amd64", cache, PACKAGES, step_seconds=900)
    guest.add(bench.spoor, "/bin/spoor")
    for program in programs:
        guest.add(program)
    table = scripts(bench, *programs)
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
                if not results[name] and "bpftrace" not in name:
                    raise machine.Unavailable(f"{name}: {errors.read()}")
        return results
    finally:
        os.chdir(before)


def values_table(results):
    titles = {"numbers": "three integers, two of 64 bits", "text": "a text of 32 bytes",
              "member": "a member through two pointers"}
    peers = {"spoor without": "spoor without them", "uprobes": "uprobes", "uprobes without": "uprobes without them",
             "bpftrace": "bpftrace", "bpftrace without": "bpftrace, counted"}
    table = Table("Kernel uprobes with arguments", list(peers.values()), VALUES_TEXT)
    missing = [title for name, title in peers.items() if not results["values, " + name]]
    if missing:
        table.text += f" {', '.join(missing)}: not measured, it did not run in this machine."
    for kind, title in titles.items():
        untraced = median([r[kind] for r in results["values"]])
        own = median([r[kind] for r in results["values, spoor"]]) - untraced
        table.row(title, [cell([(r[kind] - untraced) / own for r in rounds]) if rounds else None
                          for rounds in (results["values, " + name] for name in peers)])
    return table


def measure(bench):
    sys.path.append(GUEST)
    import machine  # pylint: disable=import-outside-toplevel
    table = Table("Kernel uprobes", ["leaf, of untraced", "leaf, of spoor", "recursion, of untraced",
                                     "recursion, of spoor"], TEXT, plot=[1, 3])
    program, with_values = bench.path("probed"), bench.path("probed-values")
    run(["gcc", "-O2", "-fno-inline", os.path.join(HERE, "..", "calls.c"), "-o", program])
    run(["gcc", "-O2", "-g", os.path.join(HERE, "..", "values.c"), "-o", with_values])
    try:
        results = in_guest(bench, machine, [program, with_values])
    except machine.Unavailable as why:
        table.text += f" Not measured: {str(why).strip()[:300]}"
        return [table]
    untraced = {kind: median([r[kind] for r in results["untraced"]]) for kind in ("leaf_ns", "fib_ns")}
    spoor = {kind: median([r[kind] for r in results["spoor, newest kept"]]) - untraced[kind]
             for kind in ("leaf_ns", "fib_ns")}
    for name, rounds in ((name, rounds) for name, rounds in results.items() if not name.startswith("values")):
        cells = []
        for kind in ("leaf_ns", "fib_ns"):
            cells.append(cell([r[kind] / untraced[kind] for r in rounds]))
            cells.append(None if name == "untraced" else
                         cell([(r[kind] - untraced[kind]) / spoor[kind] for r in rounds]))
        table.row(name, cells)
    return [table, values_table(results)]
