#!/usr/bin/env python3
"""Counts a program's calls with callgrind and with spoor, and compares the counts of each function.

    callgrind.py SPOOR PROGRAM
"""
import collections
import os
import re
import shutil
import sys

from harness import SKIP, Spoor, check, check_lossless, check_same_outcome, main, run

# Functions that linkers add to a program, and cold parts, which are no functions.
ADDED_FUNCTIONS = re.compile(r"^(_|0x|\(below main\)|frame_dummy|(de)?register_tm_clones|.*\.cold\]?$)")


def callgrind_counts(program):
    """{function of the program: calls}, from a profile without abbreviations: a line "cfn=" names the called
    function; a line "cob=" before it names its file if that is another one."""
    out = "callgrind.out"
    done = run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                "--compress-strings=no", "--compress-pos=no", program])
    check(done.status == 0, f"callgrind: status {done.status}: {done.stderr.decode()}")
    counts = collections.Counter()
    here = called = function = None
    with open(out, encoding="utf-8") as lines:
        for line in lines:
            word, _, value = line.strip().partition("=")
            if word == "ob":
                here = value
            elif word == "fn":
                called = None
            elif word == "cob":
                called = value
            elif word == "cfn":
                function = value
            elif word == "calls":
                if os.path.realpath(called or here) == os.path.realpath(program):
                    counts[re.sub(r"'\d+$", "", function)] += int(value.split()[0])
                called = None
    return counts


def test(spoor, program):
    alone = run([program])
    check_same_outcome(alone, spoor.record(["--overflow=wait"], [program]), "spoor record")
    check_lossless(spoor.info())
    right = callgrind_counts(program)
    recorded = collections.Counter()
    check(not any(".cold" in row["function"] for row in spoor.report()), "cold parts are reported")
    for row in spoor.report():
        recorded[row["function"]] += row["calls"]
    wrong = [f"{name}: {recorded[name]} instead of {right[name]}" for name in sorted(set(right) | set(recorded))
             if recorded[name] != right[name] and not ADDED_FUNCTIONS.match(name)]
    check(not wrong, "calls:\n  " + "\n  ".join(wrong))
    check(len([name for name in right if not ADDED_FUNCTIONS.match(name)]) > 30, f"only {sorted(right)}")


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        sys.exit(SKIP)
    tracer, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced))
