#!/usr/bin/env python3
"""judged.py SPOOR PROGRAM [COMPILER...]: calls that stubs leave out are those that spoor would leave out. The second
condition of each pair means the same, but has a part that stubs do not judge: "d" is never 0.5. Without a compiler,
one condition of some functions."""
import json
import os
import re
import subprocess
import sys

from harness import Spoor, check, check_same, main, run

OTHERS = ["-F", "plain", "-F", "leaf"]
FEW = ["again", "leaver", "of_parts"]
FUNCTIONS = {
    "again": ["n > 3", "n == 0", "n & 1", "!(n < 2 || n > 4)", "n != 2 && d > 3", "n > 99"],
    "plain": ["n < 3", "n >= 100 && n <= 104", "7 > n && 2 <= n"],
    "leaver": ["n == 1", "n > 1", "n == 4 || n == 7"],
    "lower": ["n & 3", "n > 99"],
    "tail": ["n < 5", "n > 99"],
    "handled": ["n < 2", "n > 99"],
    "raiser": ["n < 2", "n > 20"],
    "waits": ["n == 2", "n & 1", "n != 3"],
    "forks": ["n == 3", "n > 99"],
    "of_parts": [
        "p->sign < 0", "p->half >= 40000", "p->size == LARGE", "p->size < MEDIUM", "p->odd", "p->few == 5",
        "p->more & 0x1f8", "p->wide > 0x123456789abcdef", "p->wide & 0x8000000000000000", "p->next->sign < -20",
        "!(p->next->next->sign >= 0)", "p->next != NULL", "p->next == 0 || byte > 200", "half < -3",
        "half < 0 && byte & 0x40", "byte == 300", "half < 40000", "p->next->next->next->odd == true"],
}


def record(spoor, program, *options):
    done = run([spoor.path, "record", "-o", "trace", *options, "--", program])
    check(done.status == 0, f"{options}: status {done.status}: {done.stderr.decode()}")


def calls(spoor):
    """For each thread the lines of a replay, without durations."""
    done = run([spoor.path, "replay", "trace"])
    check(done.status == 0, f"replay: {done.stderr.decode()}")
    threads = {}
    for line in done.stdout.decode().splitlines():
        if "] | " in line and "/* paused" not in line:
            thread = re.search(r"\[ *(\d+)\] \| ", line)[1]
            threads.setdefault(int(thread), []).append(line.split("] | ", 1)[1])
    return [threads[thread] for thread in sorted(threads)]


def compare(spoor, program, name, condition, others):
    found = []
    values = [] if "p->" in condition else ["-A", f"{name}@d"]
    for part in ("", " || d == 0.5"):
        record(spoor, program, *values, *others, "--where", f"{name}/({condition}){part}/")
        found.append(calls(spoor))
    for i, (judged, by_spoor) in enumerate(zip(*found)):
        bare = [[re.sub(r"\(.*?\)( = .*?)?;?( \{)?$", r"()\2", line) for line in lines] for lines in (judged, by_spoor)]
        check_same(f"{name}/{condition}/ {others} thread {i}", bare[1], bare[0])
    check(len(found[0]) == len(found[1]), f"{condition}: {[len(threads) for threads in found]} threads")
    return sum(map(len, found[1]))


def same_calls(spoor, program):
    lines = 0
    for name, conditions in FUNCTIONS.items():
        for i, condition in enumerate(conditions if COMPILER else conditions[:name in FEW]):
            lines += compare(spoor, program, name, condition, [])
            if COMPILER and name not in ("of_parts", "plain") and i == 0:
                compare(spoor, program, name, condition, OTHERS)
    check(lines > (500 if COMPILER else 100), f"only {lines} lines")


def events_of(spoor):
    events = json.loads(run([spoor.path, "info", "--json", "trace"]).stdout)["events"]
    return events["entry"], events["exit"]


def carried_exits(spoor, program):
    """qsort may end in another function of its library, whose returns count only for calls that were kept."""
    record(spoor, program, "--libcalls", "--where", "qsort/arg2 > 30/")
    check(events_of(spoor) == (9, 9), f"{events_of(spoor)}")
    record(spoor, program, "--libcalls", "--where", "qsort/arg2 > 30/", "-F", "raise")
    check(events_of(spoor) == (9 + 24, 9 + 24), f"with a function without a condition: {events_of(spoor)}")


# Two functions that end in a third one, and one that falls into another.
SHARED = """
static __attribute__((noipa)) int inner(int n) { return n * 3; }
int asked(int n) { return inner(n + 1); }
int free_one(int n) { return inner(n - 1); }
"""
SHARING = """
int asked(int n);
int free_one(int n);
int main(void) {
    int sum = 0;
    for (int i = 0; i < 20; i++)
        sum += asked(i) + free_one(i);
    return sum != 1140;
}
"""


def shared_ends(spoor, _):
    """Calls with and without a condition end at one return, of a function that is not traced itself."""
    for name, source, options in [("libshared.so", SHARED, ["-shared", "-fPIC"]),
                                  ("sharing", SHARING, ["./libshared.so", "-Wl,-rpath,."])]:
        subprocess.run([*COMPILER, "-O2", "-g", "-x", "c", "-", "-o", name, "-x", "none", *options], input=source,
                       text=True, check=True)
    for name, count, others in [("asked", 5, []), ("free_one", 5, []), ("asked", 25, ["-F", "free_one"]),
                                ("free_one", 25, ["-F", "asked"])]:
        record(spoor, "./sharing", "--libcalls", "--where", f"{name}/n >= 15/", *others)
        check(events_of(spoor) == (count, count), f"{name} {others}: {events_of(spoor)}")
        lines = sorted(line for line in calls(spoor)[0] if "(" in line)
        right = [f"{name}(n={n});" for n in range(15, 20)] + [f"{other}();" for other in others[1:]] * 20
        check_same(f"{name} {others}", sorted(right), lines)


def nothing_else_is_recorded(spoor, program):
    """What a ring that is overwritten loses is what was recorded."""
    options = ["record", "-o", "trace", "--overflow=overwrite", "--buffer=64K"]
    counts = {}
    for condition in ("n == 7 || n > 99998", "(n == 7 || n > 99998) && ret != 0.5", "n == 7 || d == 0.5"):
        done = run([spoor.path, *options, "--where", f"plain/{condition}/", "--", program, "100000"])
        check(done.status == 0, f"{condition}: {done.status}: {done.stderr.decode()}")
        numbers = re.search(r"(\d+) events, (\d+) overwritten", done.stderr.decode())
        counts[condition] = [int(number) for number in numbers.groups()]
    judged, partly, by_spoor = counts.values()
    check(judged == [4, 0] and partly == [4, 0], f"{counts}")
    check(by_spoor[1] > 150000, f"{counts}")


def test(path, program):
    spoor = Spoor(path)
    nothing_else_is_recorded(spoor, program)
    carried_exits(spoor, program)
    if COMPILER:
        shared_ends(spoor, program)
    same_calls(spoor, program)


COMPILER = sys.argv[3:]
paths = [os.path.realpath(argument) for argument in sys.argv[1:3]]
main(lambda: test(*paths))
