#!/usr/bin/env python3
"""narrow.py SPOOR PROGRAM: sites without room for a jump are patched by another tier, which is in the function's name.
These patches run: entries and exits of each function have the right counts."""
import ctypes
import os
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

TIERS = ("hop", "pun")
CONTROLS = "_second"  # its narrow site is neither its entry nor an exit
WAYS = ("ways_short", "ways_long")  # in a program with a fixed address their returns have no room
LEAF = "_leaf"        # suffix of functions that are only jumped to
ADDR_NO_RANDOMIZE = 0x0040000


def check_tiers(name, function):
    """The narrow sites of function NAME have the tier in its name, and no other."""
    own, other = (name[:3], TIERS[name.startswith("hop")])
    exits = function["exits"]
    sites = {tier: (function["entry"] == tier) + exits.get(tier, 0) for tier in TIERS}
    check(not function["refused"] and not exits.get("none", 0), f"{name}: {function}")
    check(sites[other] == 0, f"{name} is patched by a {other}: {function}")
    if not name.endswith((CONTROLS, LEAF)):
        check(sites[own] > 0, f"{name} has no {own}: {function}")


def test(path, program):
    # The program disables ASLR, too, and execs itself. info describes the state before that exec.
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
    spoor = Spoor(path)
    alone = run([program])
    explained = {f["function"]: f for f in spoor.json("explain", "--json", program)}
    functions = {name: f for name, f in explained.items() if name.startswith(TIERS)}
    for name in WAYS:
        check(explained[name]["exits"].get("none", 0) == 0, f"{name}: {explained[name]}")
    check(len(functions) == 19, f"functions: {sorted(functions)}")
    for name, function in functions.items():
        check_tiers(name, function)
    patterns = [word for name in functions for word in ("-F", name)]
    check_same_outcome(alone, spoor.record(patterns, [program]), "spoor record")
    info = spoor.info()
    check_lossless(info)
    if not spoor.is_whole():
        return
    for tier in TIERS:
        wanted = sum(f["entry"] == tier for f in functions.values())
        seen = info["functions"]["tiers"][tier]
        check(seen == wanted > 0, f"{seen} entries by {tier} instead of {wanted}")
        wanted = sum(f["exits"].get(tier, 0) for f in functions.values())
        seen = info["functions"]["exit_tiers"][tier]
        check(seen == wanted > 0, f"{seen} exits by {tier} instead of {wanted}")
    marks = alone.stdout.decode().splitlines()
    rows = {row["function"]: row for row in spoor.report()}
    for tier in TIERS:  # report counts calls by tier, too
        wanted = sum(mark == f"|0 > {name}" for name, f in functions.items() if f["entry"] == tier
                     for mark in marks)
        seen = sum(row["calls"] for row in rows.values() if row["tier"] == tier)
        check(seen == wanted > 0, f"report --json: {seen} calls by {tier} instead of {wanted}")
    for name in functions:
        calls = sum(mark == f"|0 > {name}" for mark in marks)
        row = rows.get(name, {"calls": 0, "unwound": 0})
        check(row["calls"] == calls > 0 and not row["unwound"], f"{name}, {calls} calls: {row}")


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
