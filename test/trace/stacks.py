#!/usr/bin/env python3
"""stacks.py SPOOR PROGRAM...: --stack records the callers that each program prints (programs/stacks.c): its own
functions by name, and functions of libraries between them. Each view shows them, and says where a chain is cut off."""
import collections
import os
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

CUT = "elsewhere"  # on an alternate stack only the handler's own calls are known
# Coroutines and, in some C libraries, main and threads have callers without call-frame information.
UNKNOWN_ENDS = "whole", "lost", "cut"


def wanted(text):
    """For each call of probe(): (functions of the program, modules of all callers or None, whether it is cut)."""
    lines = text.decode().splitlines()
    for want, seen in zip(lines[::2], lines[1::2]):
        names = want.removeprefix("want: ").split()
        modules = seen.removeprefix("seen: ").split()
        cut = names[0] == CUT
        yield names[cut:], None if cut or modules == ["-"] else modules, cut


def probes(spoor, trace="trace"):
    items = [item for item in spoor.json_lines("replay", "--json", "--stack", trace)
             if item["kind"] == "entry"]
    return [item for item in items if item["function"] == "probe" and "before" not in item]


def ends_of(spoor):
    """{how a chain ends: number of entries}; calls that were open behind lost events have no chain."""
    items = spoor.json_lines("replay", "--json", "--stack", "trace")
    return collections.Counter(item.get("stack_end") for item in items
                               if item["kind"] == "entry" and "before" not in item)


OWN_FUNCTIONS = {"inner", "one", "two", "outer", "recurse", "compare", "sort", "on_signal", "interrupt", "thread", "coroutine",
       "main"}
# Static programs contain the C library's functions, too.
TRACED = [word for name in (*sorted(OWN_FUNCTIONS - {"sort"}), "probe") for word in ("-F", name)]
# Room for whole stacks. Random small rings (SPOOR_TEST_SEED) hold a part of each stack, or nothing.
ROOM = "--buffer=1M"


def own_functions(stack, program):
    """The program's own functions among the callers."""
    return [frame["function"] for frame in stack
            if frame["module"] == program and frame["function"] in OWN_FUNCTIONS]


def check_stacks(spoor, program, expected):
    seen = probes(spoor)
    check(len(seen) == len(expected), f"{len(seen)} calls of probe instead of {len(expected)}")
    for item, (names, modules, cut) in zip(seen, expected):
        stack = item["stack"]
        check(own_functions(stack, program) == names, f"wanted {names}, got {stack}")
        ends = ("cut",) if cut else ("whole",) if modules and "coroutine" not in names else UNKNOWN_ENDS
        check(item["stack_end"] in ends, f"{names}: {item['stack_end']}")
        if modules:
            got = [frame["module"] for frame in stack]
            check(got == modules, f"{names}: wanted modules {modules}, got {got}")


def check_limit(spoor, program, command, expected):
    """--stack=NUMBER limits the callers; --stack=PATTERN selects functions that have them."""
    spoor.record([*TRACED, ROOM, "--stack=3", "--stack=pro*"], command)
    for item, (want, _, _) in zip(probes(spoor), expected, strict=True):
        names = own_functions(item["stack"], program)
        check(names == want[:len(names)], f"wanted {want}, got {names}")
        check(len(item["stack"]) <= 3, f"more than 3 callers: {item}")
        check(item["stack_end"] != "limited" or len(item["stack"]) == 3, f"limited too early: {item}")
        check(want[0] != "recurse" or len(names) == 3, f"too few: {names}")
    others = [item for item in spoor.json_lines("replay", "--json", "--stack", "trace")
              if item["kind"] == "entry" and item["function"] != "probe"]
    check(others and not any(item["stack"] for item in others), "functions that do not match have stacks")


def check_views(spoor, program, expected):
    """Rows of report --stack add up to those without stacks. Folded paths are whole."""
    calls = collections.Counter()
    for row in spoor.json("report", "--json", "--stack", "trace"):
        calls[row["function"], tuple(own_functions(row["stack"], program))] += row["calls"]
    for names, count in collections.Counter(tuple(names) for names, _, _ in expected).items():
        check(calls["probe", names] == count, f"report: {names}: {calls['probe', names]} calls")
    sums = collections.Counter()
    for (function, _), count in calls.items():
        sums[function] += count
    for row in spoor.report():
        check(sums[row["function"]] == row["calls"], f"report: {row['function']}: {sums}")
    folded = spoor.view("export", "--format=folded", "trace").decode()
    paths = [line.rsplit(" ", 1)[0].split(";") for line in folded.splitlines()]
    for names, _, cut in expected:
        tail = [*reversed(names), "probe"]
        found = [path for path in paths if [name for name in path if name in tail][-len(tail):] == tail]
        check(found, f"folded: no path {tail}")
        check(not cut or any("[unknown]" in path for path in found), f"folded: {tail}: {found}")
    text = spoor.view("report", "--stack", "trace").decode()
    check("< inner < outer < main" in text, "report does not show callers")
    check("/* < inner < outer < main" in spoor.view("replay", "--stack", "trace").decode(),
          "replay does not show callers")


def check_full_rings(spoor, program, command, expected):
    """The smallest rings, with each policy: chains are right, and missed chains are counted."""
    truth = [tuple(names) for names, _, _ in expected]
    for policy in "wait", "drop", "overwrite":
        done = spoor.record([*TRACED, "--stack", "--buffer=4K", f"--overflow={policy}"], command)
        check(done.status == 0, f"{policy}: status {done.status}")
        info = spoor.json("info", "--json", "trace")
        missed = info["callers"]["missed"]
        ends = ends_of(spoor)
        most = info["threads"] if policy == "overwrite" else 0  # each thread's oldest entry may lack its slice
        check(policy == "drop" or missed <= most, f"{policy}: {missed} chains are missed")
        check(missed == ends["missed"], f"info says {missed} chains are missed: {ends}")
        check(not ends[None], f"{policy}: {ends[None]} calls have no stack_end")
        check(policy != "wait" or not info["events"]["lost"], f"wait: {info['events']['lost']} events lost")
        seen = probes(spoor)
        check(policy != "wait" or len(seen) == len(truth), f"wait: {len(seen)} calls of probe")
        for item in seen:
            stack = own_functions(item["stack"] or [], program)
            check(any(list(names[:len(stack)]) == stack for names in truth), f"{policy}: {item}")
            check(item["stack_end"] != "limited", f"{policy}: {item}")


def test(spoor, path):
    program, command = os.path.basename(path), [path]
    alone = run(command)
    expected = list(wanted(alone.stdout))
    for option in "--stack=probe", "--stack":
        check_same_outcome(alone, spoor.record([*TRACED, ROOM, option], command), f"spoor record {option}")
        check_lossless(spoor.info())
        if spoor.is_whole():
            check_stacks(spoor, program, expected)
    if spoor.is_whole():
        check_views(spoor, program, expected)
        check_limit(spoor, program, command, expected)
    check_full_rings(spoor, program, command, expected)


def test_all(spoor, programs):
    for path in programs:
        print(os.path.basename(path))
        test(spoor, path)


if __name__ == "__main__":
    given = os.path.realpath(sys.argv[1]), [os.path.realpath(path) for path in sys.argv[2:]]
    main(lambda: test_all(Spoor(given[0]), given[1]))
