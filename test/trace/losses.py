#!/usr/bin/env python3
"""Lost events: no view pairs an entry with an exit behind a gap. Calls that were open there are cut, and those that go on
stay in the tree.

    losses.py SPOOR PROGRAM
"""
import bisect
import collections
import csv
import io
import os
import re
import sys

from harness import Spoor, check, check_same_outcome, main, run

DEPTHS = {"main": 0, "turn": 1, "step": 2, "leaf_of_turn": 2, "leaf": 3}
TURNS = "8000"
ENDS = "exit", "unwound", "cut"


def check_place(line, stack, depths):
    """A caller that was entered and left in gaps is not known, so its callee stands below its caller's caller."""
    place, above = depths.get(line["function"]), depths.get(stack[-1][0], -1) if stack else -1
    if place is not None:
        behind_gap = all(before for _, before in stack)
        check(place == above + 1 or (place > above and behind_gap), f"below {stack}: {line}")


def read_tree(lines, depths):
    """Follows the calls. Returns a count of (kind, function), and the times of gaps by thread."""
    stacks, counts, gaps = collections.defaultdict(list), collections.Counter(), collections.defaultdict(list)
    for line in lines:
        stack, name = stacks[line["tid"]], line["function"]
        counts[line["kind"], name] += "before" not in line
        if line["kind"] == "lost":
            check(not stack, f"open calls at a gap: {stack}")
            gaps[line["tid"]].append(line["t_ns"])
        elif line["kind"] == "entry":
            check(line["depth"] == len(stack), f"{line} below {stack}")
            check_place(line, stack, depths)
            stack.append((name, "before" in line))
        elif line["kind"] in ENDS:
            check(stack and stack.pop()[0] == name, f"{line} ends no open call")
    return counts, gaps


def check_views(spoor, counts, gaps):
    cut = sum(count for (kind, _), count in counts.items() if kind == "cut")
    check(cut > 0, "no call was cut, so this shows nothing")
    for row in spoor.report():
        name = row["function"]
        check(row["calls"] == counts["entry", name], f"{row}: {counts['entry', name]} entries")
        check(row["cut"] == counts["cut", name], f"{row}: {counts['cut', name]} cut calls")
        measured = row["calls"] - row["cut"]
        check(measured or row["max_ns"] == 0, f"{row}: no call was measured")
    text = spoor.view("report", "trace").decode()
    check(re.search(r"^ +CALLS +CUT +TOTAL", text), f"report without a column of cut calls: {text[:200]}")
    check(re.search(rf"¦: events were lost during {cut} call", text), f"report: {text[-600:]}")
    rows = list(csv.DictReader(io.StringIO(spoor.view("export", "--format=csv", "trace").decode())))
    check(sum(row["how"] == "cut" and row["before"] == "0" for row in rows) == cut, f"CSV: not {cut} cut calls")
    for row in rows:
        start = int(row["start_ns"])
        end = start + int(row["duration_ns"])
        of_thread = gaps[int(row["tid"])]
        at = bisect.bisect_right(of_thread, start)
        check(at == len(of_thread) or of_thread[at] >= end, f"a call across a gap: {row}")


def check_exports(spoor):
    """Formats that show single calls mark those that are cut; formats that sum up tell their number."""
    ends = collections.Counter((line["function"], "before" in line) for line in spoor.lines_of_replay("trace")
                               if line["kind"] == "cut")
    cut = sum(ends.values())
    chrome = spoor.view("export", "--format=chrome", "trace")
    check(chrome.count(b'"end":"cut"') == cut, f"Chrome: not {cut} cut calls")
    scope = spoor.json("export", "--format=speedscope", "trace")
    frames = [frame["name"] for frame in scope["shared"]["frames"]]
    begun = collections.Counter(frames[event["frame"]] for profile in scope["profiles"] for event in profile["events"]
                                if event["type"] == "O")
    marked = {name.removesuffix(" [cut]"): count for name, count in begun.items() if name.endswith(" [cut]")}
    names = {name: ends[name, False] + ends[name, True] for name, _ in ends}
    check(marked == names, f"speedscope: {marked} cut calls instead of {names}")
    strings = {name for thread in spoor.json("export", "--format=firefox", "trace")["threads"]
               for name in thread["stringArray"]}
    wanted = {f"{name} [cut]" for name in names}
    check(wanted and {name for name in strings if "[" in name} <= wanted, f"Firefox: {strings}")
    check("turn [cut]" in strings, f"Firefox: {strings}")
    measured = sum(count for (_, before), count in ends.items() if not before)
    callgrind = spoor.view("export", "--format=callgrind", "trace").decode()
    check(re.search(rf"\ndesc: .* lost, during {measured} call", callgrind), f"callgrind: {callgrind[:300]}")


def check_graph(node, path=()):
    """Calls have only the callers that the program has."""
    for child in node["children"]:
        name = child["name"]
        above = DEPTHS.get(path[-1], -1) if path else -1
        check(DEPTHS.get(name, len(path)) > above, f"graph: {name} below {path}")
        check_graph(child, path + (name,))


def record(spoor, options, command):
    alone, traced = run(command), spoor.record(["--overflow=drop", "--buffer=64K", *options], command)
    check_same_outcome(alone, traced, " ".join(options))
    lost = spoor.json("info", "--json", "trace")["events"]["lost"]
    check(lost > 0, "no event is lost, so this shows nothing")


def test(spoor, program):
    record(spoor, [], [program, TURNS])
    counts, gaps = read_tree(spoor.lines_of_replay("trace"), DEPTHS)
    check_views(spoor, counts, gaps)
    check_graph(spoor.graph())
    check_exports(spoor)
    check(counts["entry", "main"] == 1, f"main was entered {counts['entry', 'main']} times")
    told = run([spoor.path, "record", "-o", "told", "--overflow=drop", "--buffer=64K", program, TURNS]).stderr.decode()
    check(re.search(r"[1-9]\d* lost,.*--buffer.*-F.*--overflow=wait", told), f"summary: {told}")
    for options in ["-D", "3"], ["-t", "1us"]:
        record(spoor, options, [program, TURNS])
        read_tree(spoor.lines_of_replay("trace"), DEPTHS)


def test_compiler(spoor):
    """A real program, whose tree is not known: calls nest, and nothing is paired across gaps."""
    with open("big.c", "w", encoding="ascii") as out:
        out.write("\n".join(f"int f{i}(int a, int b) {{ return a * {i} + b / (a + {i}); }}" for i in range(4)))
    compiler = run(["gcc", "-print-prog-name=cc1"]).stdout.decode().strip()
    if os.path.isabs(compiler):
        record(spoor, [], [compiler, "-quiet", "-O1", "big.c", "-o", "big.s"])
        read_tree(spoor.lines_of_replay("trace"), {})


if __name__ == "__main__":
    tracer, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced))
    main(lambda: test_compiler(tracer))
