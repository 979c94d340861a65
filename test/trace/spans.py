#!/usr/bin/env python3
"""Views of a part of a compiler's trace show whole calls, and durations contain no waits for a full ring.

    spans.py SPOOR
"""
import collections
import csv
import io
import json
import os
import sys

from harness import SKIP, Spoor, check, check_same_outcome, main, run


def compiler():
    path = run(["gcc", "-print-prog-name=cc1"]).stdout.decode().strip()
    if not os.path.isabs(path):
        print("gcc is not installed")
        sys.exit(SKIP)
    with open("some.c", "w", encoding="ascii") as out:
        out.write("\n".join(f"int f{i}(int a) {{ return a * {i} + 1; }}" for i in range(8)))
    return [path, "-quiet", "-O1", "some.c", "-o", "-"]


def rows_of(spoor, *options):
    text = spoor.view("export", "--format=csv", *options, "trace").decode()
    return list(csv.DictReader(io.StringIO(text)))


def key(row):
    """All of a call but whether it goes beyond the span."""
    return tuple(row[name] for name in row if name != "clipped")


def end_of(row):
    return int(row["start_ns"]) + int(row["duration_ns"]) + int(row["paused_ns"])


def check_span(spoor, rows, since, until):
    options = f"--since={since}ns", f"--until={until}ns"
    found = rows_of(spoor, *options)
    wanted = [row for row in rows if int(row["start_ns"]) <= until and end_of(row) >= since]
    check(sorted(map(key, found)) == sorted(map(key, wanted)),
          f"{options}: {len(found)} calls instead of {len(wanted)}")
    for row in found:
        beyond = int(row["start_ns"]) < since or end_of(row) > until
        check(row["clipped"] == str(int(beyond)), f"{options}: {row}")
    marked = spoor.view("export", "--format=chrome", *options, "trace").count(b'"clipped":true')
    check(marked == sum(row["clipped"] == "1" for row in found), f"{options}: Chrome marks {marked} calls")
    check_ends(spoor, options)
    longest = max(int(row["duration_ns"]) for row in wanted)
    report = json.loads(spoor.view("report", "--json", *options, f"--threshold={longest}ns", "trace"))
    check([row["max_ns"] for row in report if row["calls"]] == [longest],
          f"{options}: the longest call of {longest} ns is missing: {report}")


def check_ends(spoor, options):
    """replay --json shows the end of each call."""
    opened = collections.Counter()
    for line in spoor.json_lines("replay", "--json", *options, "trace"):
        change = {"entry": 1, "exit": -1, "unwound": -1}[line["kind"]]
        opened[line["tid"], line["depth"], line["function"]] += change
    check(not any(opened.values()), f"{options}: calls without an end: {+opened}")


def check_pauses(spoor, rows):
    """Each call lasts from its start to its end but for the pauses of its thread in between."""
    info = spoor.json("info", "--json", "trace")
    check(info["pauses"]["by"]["ring"] > 0, "no ring was full, so this shows nothing")
    pauses = [line for line in spoor.all_json_lines("replay", "--json", "trace") if line["kind"] == "pause"]
    summed = sum(line["paused_ns"] for line in pauses if "in_call" not in line)
    check(abs(summed - info["pauses"]["total_ns"]) <= len(pauses) + 5, f"pauses: {summed}, {info['pauses']}")
    ends = [line["t_ns"] for line in pauses if "in_call" not in line]
    for row in rows[:20000]:
        start, end = int(row["start_ns"]), end_of(row)
        if not any(start < at <= end for at in ends):
            check(row["paused_ns"] == "0", f"no pause is in this call: {row}")
    longest = max(rows, key=end_of)
    inside = sum(line["paused_ns"] for line in pauses if "in_call" not in line and
                 int(longest["start_ns"]) < line["t_ns"] <= end_of(longest))
    check(abs(int(longest["paused_ns"]) - inside) <= len(pauses) + 5, f"pauses of {inside} ns in {longest}")


def test(spoor):
    command = compiler()
    options = ["--overflow=wait", "--buffer=64K", "-D", "9"]
    check_same_outcome(run(command), spoor.record(options, command), " ".join(options))
    rows = rows_of(spoor)
    last = max(map(end_of, rows))
    first = min(int(row["start_ns"]) for row in rows)
    for since, until in (0.3, 0.6), (0.5, 0.5), (0.0, 0.2), (0.8, 1.0):
        check_span(spoor, rows, first + int((last - first) * since), first + int((last - first) * until))
    check_pauses(spoor, rows)


if __name__ == "__main__":
    tracer = Spoor(sys.argv[1])
    main(lambda: test(tracer))
