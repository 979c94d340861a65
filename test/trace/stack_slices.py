#!/usr/bin/env python3
"""stack_slices.py SPOOR [--outcome] PROGRAM...: programs that leave frames by exceptions and longjmp() have the same outcome
with --stack. The callers that are found on the stack are the calls that are open by the events. --outcome: checks
the outcome only, for programs with stacks of their own."""
import collections
import os
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

# Not traced: functions that compilers add without call-frame information.
OPTIONS = ["--stack=64", "-N", "*_tm_clones", "-N", "__do_global_dtors_aux", "-N", "frame_dummy"]
LEAST = 10  # entries of each program whose callers must all be known


def open_calls(items):
    """Yields each entry with the functions that are open in its thread, the innermost first."""
    calls = collections.defaultdict(list)
    for item in items:
        own = calls[item.get("began_tid", item["tid"])]
        if item["kind"] == "entry":
            yield item, own[::-1]
            own.append(item["function"])
        else:
            check(own.pop() == item["function"], f"not the innermost call: {item}")


def check_callers(spoor, program):
    traced, whole = {row["function"] for row in spoor.report()}, 0
    for item, wanted in open_calls(spoor.json_lines("replay", "--json", "--stack", "trace")):
        check(item["module"] == program and item["stack"], f"no callers: {item}")
        seen = [frame["function"] for frame in item["stack"]
                if frame["module"] == program and frame["function"] in traced]
        is_whole = item["stack_end"] == "whole"
        check(seen == (wanted if is_whole else wanted[:len(seen)]), f"{item}: open calls: {wanted}")
        whole += is_whole
    check(whole >= LEAST, f"only {whole} chains are whole")


def test(spoor, path, outcome_only):
    alone = run([path])
    check_same_outcome(alone, spoor.record(OPTIONS, [path]), "spoor record --stack")
    check_lossless(spoor.info())
    if not outcome_only and spoor.is_whole():
        check_callers(spoor, os.path.basename(path))


def test_all(spoor, paths, outcome_only):
    for path in paths:
        print(os.path.basename(path))
        test(spoor, path, outcome_only)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--outcome"]
    given = os.path.realpath(words[0]), [os.path.realpath(path) for path in words[1:]]
    main(lambda: test_all(Spoor(given[0]), given[1], "--outcome" in sys.argv))
