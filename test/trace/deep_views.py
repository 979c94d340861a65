#!/usr/bin/env python3
"""deep_views.py SPOOR PROGRAM: a recursion 100 000 calls deep. The output of each view is proportional to the number of
calls: indentation and the paths of folded stacks have a limit, and no time gets lost behind it."""
import os
import re
import sys

from harness import Spoor, check, main
from terminal import on_terminal

BYTES_OF_CALL = 270  # a line of JSON for its entry and its end, with long numbers
VIEWS = (("replay",), ("replay", "--json"), ("graph",), ("graph", "--json"), ("report",),
         ("diff", "--by-path", "trace"), ("diff", "--json", "--by-path", "--limit=10", "trace"),
         ("export", "--format=folded"), ("export", "--format=csv"), ("export", "--format=chrome"),
         ("export", "--format=perfetto"), ("export", "--format=callgrind"), ("export", "--format=pprof"),
         ("export", "--format=speedscope"), ("export", "--format=firefox"), ("export", "--format=parquet"))


def check_sizes(spoor, calls):
    for view in VIEWS:
        size = len(spoor.view(*view, "trace"))
        check(size < calls * BYTES_OF_CALL, f"{' '.join(view)}: {size} bytes for {calls} calls")


def check_depths(spoor, depth):
    """The deepest call has its depth at its entry, its end and its node of the graph."""
    lines = spoor.view("replay", "trace").decode().splitlines()
    opened = [line for line in lines if line.endswith(f" [{depth - 1}] descend() {{")]
    closed = [line for line in lines if line.endswith(f" [{depth - 1}] }} /* descend */")]
    check(len(opened) == len(closed) == 1, f"replay: {opened} {closed}")
    check(sum(line.endswith(f" [{depth}] descend();") for line in lines) == 1, "replay: the innermost call")
    check(sum(line.endswith(f" [{depth + 1}] descend") for line in
              spoor.view("graph", "trace").decode().splitlines()) == 1, "graph: the innermost call")


def check_times(spoor):
    """Folded stacks have all the time."""
    lines = spoor.view("export", "--format=folded", "trace").decode().splitlines()
    summed = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    wanted = sum(row["self_ns"] for row in spoor.report())
    check(summed == wanted, f"folded: {summed} ns of {wanted}")
    deeper = [line for line in lines if ";[deeper than 512 calls];descend " in line]
    check(len(deeper) == 1, f"folded: {len(deeper)} lines of calls that are deeper")
    check(max(line.count(";") for line in lines) == 514, "folded: the longest path")


def check_terminal(spoor, columns):
    for view in "replay", "graph":
        lines = on_terminal(columns, [spoor.path, view, "trace"])
        wide = [line for line in lines if len(line) > columns]
        check(not wide, f"{view} at {columns} columns: {wide[:3]}")
        check(any(re.search(r" \[\d+\] descend", line) for line in lines), f"{view} at {columns} columns")


def test(spoor, program):
    spoor.record(["-F", "descend", "-F", "main"], [program])
    if not spoor.is_whole():
        return
    rows = {row["function"]: row["calls"] for row in spoor.report()}
    check_sizes(spoor, sum(rows.values()))
    check_depths(spoor, rows["descend"])
    check_times(spoor)
    check_terminal(spoor, 80)


if __name__ == "__main__":
    tracer, recursive = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, recursive))
