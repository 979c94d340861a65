#!/usr/bin/env python3
"""tiers.py [--tiers=NAME,...] SPOOR PROGRAM...: each program runs with patches of one tier only, for each tier. Its
outcome is the same as alone. Functions that the tier serves have the same calls as with the best tier of each site.
--tiers: the tiers of the machine, if it does not have all.
"""
import collections
import os
import sys

from harness import (Spoor, check, check_balanced, check_lossless, check_same, check_same_outcome, main,
                     run)

TIERS = ("jump", "hop", "pun", "trap")
LEAST = 3  # functions that a tier must serve


def sequences(spoor, names, trace):
    """Entries and ends of the functions NAMES: a list for each thread, sorted."""
    items = list(spoor.replay(trace))
    check_balanced(items)
    threads = collections.defaultdict(list)
    for item in items:
        if item["function"] in names:
            threads[item["tid"]].append(f"{item['kind']} {item['function']}")
    return sorted(threads.values())


def served_by(functions, tier):
    """The functions with all sites patched by TIER."""
    return {f["function"] for f in functions
            if f["entry"] == tier and set(f["exits"]) <= {tier, "none"} and not f["exits"].get("none")}


def count_of(functions, tier):
    return (sum(f["entry"] == tier for f in functions),
            sum(f["exits"].get(tier, 0) for f in functions if f["entry"] != "none"))


def test_tier(spoor, program, alone, tier, whole):
    way = [f"--tier={tier}", "--trap-limit=1000000000"]
    check_same_outcome(alone, spoor.record(way, [program], "tier"), f"{program}: {tier}")
    whole = spoor.is_whole("tier") and whole
    info = spoor.info("tier")
    check_lossless(info)
    functions = spoor.json("explain", "--json", f"--tier={tier}", program)
    entries, exits = count_of(functions, tier)
    counts = info["functions"]
    got = counts["tiers"][tier], counts["exit_tiers"][tier]
    others = sum(counts["tiers"].values()) - got[0]
    # Whether a pun's target can be mapped is known only when the program is loaded.
    right = got <= (entries, exits) if tier == "pun" else got == (entries, exits)
    check(right and got[0] >= LEAST and not others,
          f"{program}: {tier}: {counts} instead of {entries} entries and {exits} exits")
    if not whole or got != (entries, exits):
        return
    names = served_by(functions, tier)
    check(len(names) >= LEAST, f"{program}: {tier} serves {names} only")
    check_same(f"{program}: {tier}", sequences(spoor, names, "best"), sequences(spoor, names, "tier"))


def test(tiers, path, *programs):
    for program in programs:
        spoor = Spoor(path)
        alone = run([program])
        check_same_outcome(alone, spoor.record([], [program], "best"), program)
        whole = spoor.is_whole("best")
        for tier in tiers:
            test_tier(spoor, program, alone, tier, whole)


if __name__ == "__main__":
    words = sys.argv[1:]
    chosen = words.pop(0).partition("=")[2].split(",") if words[0].startswith("--tiers=") else TIERS
    arguments = [os.path.realpath(word) for word in words]
    main(lambda: test(chosen, *arguments))
