#!/usr/bin/env python3
"""A trace of a limited size: its parts together are what happened, and each of them can be read alone.

    parts.py SPOOR PROGRAM [ROUNDS]     (part_load.c)
"""
import glob
import json
import os
import re
import stat
import subprocess
import sys

from harness import Spoor, check, main

THREADS, CHILDREN = 3, 4
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 300
# Of the program: all calls of `leaf`, which each round makes 2000 times in each thread, and once in each child.
LEAVES = THREADS * ROUNDS * 2000
SIZE = 1 << 20


def parts_of(trace):
    """The earlier parts that are there, the oldest first."""
    return sorted(glob.glob(trace + ".[0-9]*"), key=lambda name: int(name.rsplit(".", 1)[1]))


def calls(spoor, trace):
    return {row["function"]: row for row in spoor.report(trace)}


def leaves(spoor, trace):
    """How many calls of leaf the trace has."""
    return sum(row["calls"] for row in spoor.report(trace) if row["function"] == "leaf")


def check_rights(trace):
    for name in [trace, *parts_of(trace)]:
        mode = stat.S_IMODE(os.stat(name).st_mode)
        check(mode == 0o600, f"{name} has the mode {mode:o}")


def record(spoor, program, size, *options, trace="trace", rounds=ROUNDS):
    before = os.umask(0)
    done = subprocess.run([spoor.path, "record", "-o", trace, f"--max-size={size}", *options, "--", program,
                           str(THREADS), str(rounds), str(CHILDREN)], stderr=subprocess.PIPE, text=True, check=False)
    os.umask(before)
    check(done.returncode == 0, f"the status is {done.returncode}: {done.stderr}")
    check_rights(trace)
    return done.stderr


def check_whole(spoor, program):
    """Nothing is removed: the parts have all calls, each once."""
    # A busy machine writes uncompressed blocks, and not in each run: the trace's size is found by trying.
    size, parts = 13_000 * ROUNDS, []
    for _ in range(12):
        removed = "removed" in record(spoor, program, size)
        parts = [*parts_of("trace"), "trace"]
        if not removed and len(parts) >= 3:
            break
        size = size * 2 if removed else size // 2
    check(not removed and len(parts) >= 3, f"of {size} bytes: {len(parts)} parts, removed: {removed}")
    each = [leaves(spoor, part) for part in parts[:-1]]
    all_calls = calls(spoor, "trace")
    check(all_calls["leaf"]["calls"] == LEAVES, f"{all_calls['leaf']['calls']} calls of leaf, not {LEAVES}")
    check(sum(each) <= LEAVES, f"the parts have {each} calls")
    for name, count, before in (("worker", THREADS, 0), ("child", CHILDREN, 0), ("main", 1, CHILDREN)):
        row = all_calls[name]
        check(row["calls"] == count and row["before"] == before, f"{name}: {row}")
    check(all_calls["round_of_calls"]["calls"] == THREADS * ROUNDS, f"{all_calls['round_of_calls']}")
    info = spoor.info()
    check(info["parts"] == {"first": 1, "last": len(parts), "newest": True}, info["parts"])
    check(info["events"]["lost"] == 0 and info["status"] == 0, f"{info['events']}")
    os.rename("trace", "alone.1000")
    each.append(leaves(spoor, "alone.1000"))
    check(sum(each) == LEAVES, f"the parts have {each} calls, together {sum(each)}, not {LEAVES}")
    os.rename("alone.1000", "trace")


def check_part_alone(spoor):
    """One of the middle, with all others elsewhere."""
    middle = parts_of("trace")[1]
    os.mkdir("elsewhere")
    os.rename(middle, "elsewhere/part")
    rows = calls(spoor, "elsewhere/part")
    worker = rows["worker"]  # on a busy machine one may begin late
    check(worker["before"] >= 1 and worker["calls"] + worker["before"] <= THREADS, f"{worker}")
    check(rows["main"]["before"] >= 1, f"{rows['main']}")
    depths = {row["function"]: row["depth"] for row in spoor.json_lines("replay", "--json", "elsewhere/part")
              if row["kind"] == "entry" and row["function"] in ("leaf", "round_of_calls")}
    check(depths == {"leaf": 2, "round_of_calls": 1}, f"{depths}")
    info = json.loads(spoor.view("info", "--json", "elsewhere/part"))
    check(info["parts"] == {"first": 2, "last": 2, "newest": False} and info["status"] is None, f"{info['parts']}")
    os.rename("elsewhere/part", middle)


def check_removed(spoor, program):
    for name in [*parts_of("trace"), "trace"]:
        os.remove(name)
    errors = record(spoor, program, SIZE, rounds=4 * ROUNDS)
    parts = [*parts_of("trace"), "trace"]
    check(re.search(r"parts? 1( to \d+)? (is|are) removed", errors), errors)
    taken = sum(os.path.getsize(part) for part in parts)
    check(taken <= SIZE or "larger than --max-size" in errors, f"{len(parts)} parts take {taken} bytes: {errors}")
    kept = leaves(spoor, "trace")
    check(0 < kept < 4 * LEAVES, f"{kept} calls are left")


def check_options(spoor, program):
    """-D, callers, and a trace of one part only."""
    record(spoor, program, 16_000_000, "-D", "2", "--stack=3", trace="thin")
    rows = calls(spoor, "thin")
    check(rows["round_of_calls"]["calls"] == THREADS * ROUNDS, f"{rows['round_of_calls']}")
    record(spoor, program, "1G", "-F", "main", trace="small")
    check(not parts_of("small") and spoor.info("small")["parts"]["last"] == 1, "a small trace has parts")


def run(path, program):
    spoor = Spoor(path)
    check_whole(spoor, program)
    check_part_alone(spoor)
    check_removed(spoor, program)
    check_options(spoor, program)
    wrong = subprocess.run([path, "record", "--max-size=9M", "--overflow=overwrite", "true"], capture_output=True,
                           text=True, check=False)
    check(wrong.returncode != 0 and "--max-size" in wrong.stderr, wrong.stderr)


if __name__ == "__main__":
    SPOOR, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:3])
    main(lambda: run(SPOOR, PROGRAM))
