"""Real programs with all functions of all their modules traced."""
import os
import subprocess

from measure import Observed, Table, cell, median, planning_seconds, present, run, seconds

PYTHON = "import json\nfor i in range(1200): json.loads(json.dumps([{'a': i, 'b': [1.5, 'x' * i]}] * 40))"
SQL = ("create table t(a, b); with recursive n(i) as (values(1) union all select i + 1 from n "
       "where i < 600000) insert into t select i, hex(i) from n; select sum(length(b)) from t;")
FUNCTION = """
static int f%(n)d(const int *a, int n) {
    int sum = %(n)d;
    for (int i = 0; i < n; i++)
        switch ((a[i] ^ %(n)d) & 7) {
        case 0: sum += a[i] * %(n)d; break;
        case 1: sum ^= a[(i + %(n)d) %% n]; break;
        case 2: sum -= i; break;
        case 5: if (sum > 0) return sum;
        default: sum = sum << 1 | (sum < 0);
        }
    return sum;
}
"""
FUNCTIONS, NUMBERS = 40, 60000
VARIANTS = {"newest": ["--overflow=overwrite"], "lossless": []}
COLUMNS = ["untraced, s", "newest kept, s", "lossless, s", "lossless of newest kept", "lossless, ns a call",
           "start, s", "calls, millions", "bytes a call", "lost", "memory, MB", "disk, MB", "returns after, s"]
TEXT = ("Start to end of a program on %s, with -M '*'. The start, which is planning and patching, libraries included, "
        "is a column of its own; the ratio and the price of a call are without it. Newest kept (--overflow=overwrite) is "
        "the price of the calls alone. Memory: spoor's own at its peak, rings included. Disk: the largest size of the "
        "file. Returns after: from the program's end to that of spoor.")


def compiler_input(bench):
    """A C file that takes cc1 some tenths of a second, always the same."""
    path = bench.path("one.i")
    with open(path, "w", encoding="ascii") as out:
        out.writelines(FUNCTION % {"n": n} for n in range(FUNCTIONS))
        names = ", ".join(f"f{n}" for n in range(FUNCTIONS))
        out.write(f"int (*const all[])(const int *, int) = {{{names}}};\n")
    return path


def compressible(bench):
    """A file for xz: numbers in words, always the same."""
    path = bench.path("numbers")
    with open(path, "w", encoding="ascii") as out:
        out.write(" ".join(str(n * n * 7919 % 1000003) for n in range(NUMBERS)))
    return path


def workloads(bench):
    """{name: command} of the programs that are installed."""
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return present({"sqlite3": ["sqlite3", ":memory:", SQL],
                    "python3": ["/usr/bin/python3", "-c", PYTHON],
                    "cc1": [cc1, "-quiet", "-O2", "-fpreprocessed", compiler_input(bench), "-o", os.devnull],
                    "xz": ["xz", "-k", "-c", "-T1", compressible(bench)]})


def recorded(bench, command):
    """One recording: Observed and the trace's info."""
    trace = bench.path("t.trace")
    observed = Observed(command, trace)
    observed.info = bench.info()
    observed.start = planning_seconds(observed.info)
    return observed


def measure_one(bench, cores, program):
    """Samples of PROGRAM's variants."""
    commands = {"untraced": bench.on_cores(cores, program)}
    for name, options in VARIANTS.items():
        commands[name] = bench.on_cores(cores, [*bench.record("-M", "*", *options), *program])
    run(commands["lossless"])  # the plans are in the cache then
    return commands, bench.in_turn(commands, lambda command: seconds(command) if command is commands["untraced"]
                                   else recorded(bench, command))


def cells(samples):
    untraced, newest, lossless = samples["untraced"], samples["newest"], samples["lossless"]
    calls = median([r.info["events"]["entry"] for r in lossless])
    base = median(untraced)
    alone = median([r.seconds for r in newest]) - median([r.start for r in lossless])
    return [cell(untraced), cell([r.seconds for r in newest]), cell([r.seconds for r in lossless]),
            cell([(r.seconds - r.start) / alone for r in lossless]),
            cell([(r.seconds - r.start - base) * 1e9 / calls for r in lossless]),
            cell([r.start for r in lossless]), calls / 1e6,
            cell([r.info["bytes"] / r.info["events"]["entry"] for r in lossless]),
            max(r.info["events"]["lost"] for r in lossless), cell([r.peak_mb for r in lossless]),
            cell([r.disk_mb for r in lossless]), cell([r.late for r in lossless])]


def filters(bench):
    """-D and -t on sqlite3, in parts of plain lossless recording."""
    program = workloads(bench).get("sqlite3")
    table = Table("Filters while recording, sqlite3 on two cores", ["s", "of lossless", "calls, millions"],
                  "Start to end, the start included.", plot=[1])
    if not program:
        return table
    options = {"lossless": [], "-D 3": ["-D", "3"], "-t 10us": ["-t", "10us"]}
    commands = {name: bench.on_cores(2, [*bench.record("-M", "*", *words), *program])
                for name, words in options.items()}
    samples = bench.in_turn(commands, lambda command: recorded(bench, command))
    base = median([r.seconds for r in samples["lossless"]])
    for name, rs in samples.items():
        table.row(name, [cell([r.seconds for r in rs]), cell([r.seconds / base for r in rs]),
                         median([r.info["events"]["entry"] for r in rs]) / 1e6], bench.shown(commands[name]))
    return table


def measure(bench):
    tables = []
    for cores, words in {2: "two cores", 1: "one core"}.items():
        table = Table(f"Real programs on {words}", COLUMNS, TEXT % words, plot=[0, 1, 2])
        if cores <= len(bench.cores):
            for name, program in workloads(bench).items():
                commands, samples = measure_one(bench, cores, program)
                table.row(name, cells(samples), bench.shown(commands["lossless"]))
        tables.append(table)
    return [*tables, filters(bench)]


