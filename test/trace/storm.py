#!/usr/bin/env python3
"""SIGALRM arrives every 300 microseconds: the output is right, no event is lost, and each call has its end.

    storm.py SPOOR PROGRAM
"""
import collections
import os
import sys

from harness import Spoor, check, check_balanced, check_lossless, check_same_outcome, main, run

# {function: its possible callers}. on_alarm may interrupt each of them.
CALLERS = {"leaf": {"tree", "forward", "sort"}, "real": {"series"}, "forward": {"tree"},
           "compare": {"sort"}, "handled": {"on_alarm"}, "series": {"work"}, "sort": {"work"}}


def check_nesting(items, program):
    """Yields ITEMS. Each function of the program must have one of its possible callers."""
    stacks = collections.defaultdict(list)
    seen = collections.Counter()
    for item in items:
        yield item
        if item["module"] != program:
            continue
        stack = stacks[item["tid"]]
        if item["kind"] == "entry":
            callers = CALLERS.get(item["function"])
            check(not callers or (stack and stack[-1] in callers),
                  f"{item['function']} is shown in {stack[-3:]} at {item['t_ns']} ns")
            stack.append(item["function"])
            seen[item["function"]] += 1
        else:
            check(stack and stack[-1] == item["function"], f"{item} ends out of order: {stack[-3:]}")
            stack.pop()
    for name in [*CALLERS, "on_alarm"]:
        check(seen[name] > 0, f"{name} is not in the trace")


def test(spoor, program):
    alone = run([program])
    name = os.path.basename(program)
    for options in [], ["-M", "*"], ["--buffer", "4K"]:
        what = "spoor record " + " ".join(options)
        check_same_outcome(alone, spoor.record(options, [program]), what)
        check_lossless(spoor.info())
        items = spoor.replay()
        check_balanced(check_nesting(items, name) if spoor.is_whole() else items)


if __name__ == "__main__":
    tracer, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced))
