#!/usr/bin/env python3
"""passed.py SPOOR PROGRAM

Records PROGRAM (programs/passed.c) with -a. Each argument and result that spoor shows is the one that PROGRAM prints;
none is missing that PROGRAM can read itself, and PROGRAM does what it does alone.
"""
import collections
import json
import os
import sys

from harness import Spoor, check, check_lossless, check_same, main, run

RECORD = ["-a", "-F", "passed_*"]


def values_of(line, key):
    found = line.get(key, [])
    return [one.get("value") for one in (found if isinstance(found, list) else [found])]


def shown(replay):
    """{function: [(arguments, results)] of its calls} in the lines of `replay --json`. No call here has a callee."""
    calls, open_call = collections.defaultdict(list), None
    for line in map(json.loads, replay.splitlines()):
        if not (line.get("function") or "").startswith("passed_"):
            continue
        if line["kind"] == "entry":
            open_call = values_of(line, "args")
        else:
            calls[line["function"]].append((open_call, values_of(line, "ret")))
    return calls


def printed(output):
    calls = collections.defaultdict(list)
    for name, arguments, result in map(json.loads, output.splitlines()):
        calls[name].append((arguments, [result]))
    return calls


def compare(spoor, output, unknown_results=()):
    """Spoor's trace has what the program has printed. UNKNOWN_RESULTS: of these functions no result is known."""
    check_lossless(spoor.info())
    wanted, found = printed(output), shown(run([spoor.path, "replay", "--json", "trace"]).stdout.decode())
    for name in unknown_results:
        wanted[name] = [(arguments, [None]) for arguments, _ in wanted[name]]
    check(sum(map(len, wanted.values())) > 100, f"the program has printed few calls: {output[:200]}")
    for name in wanted.keys() | found.keys():
        check_same(f"calls of {name}", *(list(map(json.dumps, calls[name])) for calls in (wanted, found)))


def test(path, program):
    spoor = Spoor(path)
    alone = run([program])
    traced = run([path, "record", "-q", *RECORD, "-o", "trace", "--", program])
    check((alone.status, alone.stdout) == (traced.status, traced.stdout), f"alone {alone}, under spoor {traced}")
    compare(spoor, alone.stdout.decode())


if __name__ == "__main__":
    paths = list(map(os.path.realpath, sys.argv[1:]))
    main(lambda: test(*paths))
