#!/usr/bin/env python3
"""inferred.py SPOOR PROGRAM: each view shows how calls end: by return, tail call, longjmp, the end of the process, or
an exit without a patch. Only the last kind is marked as inferred."""
import csv
import io
import json
import os
import re
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

MARK = "≈"
# {function: how its calls end, in the order of their ends}
ENDS = {"leaver": ["returned", "inferred"], "reached": ["returned", "returned"], "jumper": ["unwound"],
        "tail": ["tail"], "target": ["returned", "returned"], "never": ["open"],
        "main": ["open"]}
NAMED = [word for name in ENDS for word in ("-F", name)]


def check_ends(view, pairs):
    """PAIRS of function and end agree with ENDS."""
    seen = {name: [end for function, end in pairs if function == name] for name in ENDS}
    check(seen == ENDS, f"{view}: {seen}")


def check_explain(spoor, program):
    functions = {f["function"]: f for f in spoor.json("explain", "--json", *NAMED, program)}
    inexact = {name for name, f in functions.items() if f["exits"]["none"]}
    check(inexact == {"leaver"}, f"explain: no patch for exits of {inexact}")
    text = spoor.view("explain", "-F", "leaver", program).decode()
    check(re.search(f"tail: {MARK} none, unrelocatable", text), f"explain: {text}")
    listed = spoor.view("explain", "-v", *NAMED, program).decode().splitlines()
    marked = {line.split()[-1] for line in listed if MARK in line}
    check(marked == {"leaver"}, f"explain -v: marked: {marked}")


def end_of_item(item):
    if item["kind"] == "unwound":
        return "inferred" if item.get("inferred") else "open" if item.get("open") else "unwound"
    return "tail" if item.get("tail") else "returned"


def check_replay(spoor):
    items = list(spoor.replay())
    ends = [(i["function"], end_of_item(i)) for i in items if i["kind"] != "entry"]
    check_ends("replay --json", ends)
    words = {"tail call": "tail", f"{MARK} inferred": "inferred", "unwound": "unwound", "open": "open"}
    ends = []
    for line in spoor.view("replay", "trace").decode().splitlines():
        folded = re.search(r"\| +(\w+)\(\);(?: /\* (.*) \*/)?$", line)
        closed = re.search(r"\| *} /\* (\w+)(?:: (.*))? \*/$", line)
        if folded or closed:
            name, word = (folded or closed).groups()
            ends.append((name, words[word] if word else "returned"))
    check_ends("replay", ends)


def check_figures(spoor):
    for row in spoor.report():
        ends = ENDS[row["function"]]
        check(row["inferred"] == ends.count("inferred") and row["calls"] == len(ends) and
              row["unwound"] == sum(end in ("inferred", "unwound", "open") for end in ends), f"report --json: {row}")
    nodes = [spoor.graph()]
    tree = {}
    while nodes:
        node = nodes.pop()
        nodes += node["children"]
        tree[node["name"]] = [child["name"] for child in node["children"]]
        check(node["inferred"] == ENDS.get(node["name"], []).count("inferred"), f"graph --json: {node}")
    # A tail call's callee takes the caller's place.
    check(set(tree["main"]) == set(ENDS) - {"main"} and tree["tail"] == [], f"graph: {tree}")
    for view in "report", "graph":
        lines = spoor.view(view, "trace").decode().splitlines()
        marked = [line.split()[-1] for line in lines if MARK in line]
        check(marked == ["leaver", "inferred"], f"{view}: marked: {marked}")


def check_exports(spoor):
    rows = csv.DictReader(io.StringIO(spoor.view("export", "--format=csv", "trace").decode()))
    check_ends("export --format=csv", [(row["function"], row["how"]) for row in rows])
    events = json.loads(spoor.view("export", "--format=chrome", "trace"))["traceEvents"]
    words = {"tail call": "tail"}
    ends = [(e["name"], e.get("args", {}).get("end", "returned")) for e in events if e["ph"] == "X"]
    check_ends("export --format=chrome", [(name, words.get(end, end)) for name, end in ends])


def test(path, program):
    spoor = Spoor(path)
    check_explain(spoor, program)
    check_same_outcome(run([program]), spoor.record(NAMED, [program]), program)
    info = spoor.info()
    check_lossless(info)
    check(info["functions"]["inferred_exits"] == 1, f"info --json: {info['functions']}")
    check(f"1 {MARK} inferred" in spoor.view("info", "trace").decode(), "info does not mark the exit")
    if spoor.is_whole():
        check_replay(spoor)
        check_figures(spoor)
        check_exports(spoor)


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
