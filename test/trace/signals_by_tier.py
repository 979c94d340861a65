#!/usr/bin/env python3
"""SIGALRM arrives every 100 microseconds. The program runs with patches of one tier only, for each tier.

    signals_by_tier.py SPOOR PROGRAM

PROGRAM is programs/narrow_signals.c. Its result is right; each call is recorded and ends by a return.
"""
import ctypes
import os
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

ADDR_NO_RANDOMIZE = 0x0040000
TIERS = ("hop", "pun", "trap")
# Interval in microseconds, and number of signals. With traps each call of the handler costs many stops; signals
# at the usual rate would leave no time for the program.
SHOWERS = {"hop": ["100", "4000"], "pun": ["100", "4000"], "trap": ["5000", "200"]}
INFERRED = {"pun_least"}  # one of its returns has no room
LEAST = 3  # sites that each tier must serve


def counts():
    with open("counts", encoding="ascii") as file:
        return {name: int(number) for name, number in (line.split() for line in file)}


def check_tiers(spoor, way, tiers):
    functions = spoor.info()["functions"]
    for tier in tiers:
        sites = functions["tiers"][tier] + functions["exit_tiers"][tier]
        check(sites >= LEAST, f"{way}: {tier} serves {sites} sites: {functions}")


def check_calls(spoor, way, all_are_traced):
    rows = {row["function"]: row for row in spoor.report()}
    for name, number in counts().items():
        if name not in rows:
            check(not all_are_traced, f"{way}: {name} is not traced")
            continue
        exact = all_are_traced and name not in INFERRED  # a single tier does not patch all exits
        inferred = 0 if exact else rows[name]["inferred"]
        check(rows[name]["calls"] == number and rows[name]["unwound"] == inferred,
              f"{way}: {name}: {number} calls, but the report has {rows[name]}")


def test(spoor, program):
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)  # the program sets it, too
    command = [program, "counts"]
    alone = run(command)
    check(alone.stdout.endswith(b"\nright\n"), f"alone: {alone}")
    for way, tiers in [([], TIERS[:2]), *(([f"--tier={tier}"], (tier,)) for tier in TIERS)]:
        way = [*way, "--trap-limit=1000000000"]
        words = command + SHOWERS[tiers[0]]
        check_same_outcome(alone, spoor.record(way, words), f"spoor record {' '.join(way)}")
        check_lossless(spoor.info())
        check_tiers(spoor, way, tiers)
        if spoor.is_whole():
            check_calls(spoor, way, len(tiers) > 1)


if __name__ == "__main__":
    tracer, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced))
