#!/usr/bin/env python3
"""record --while: a thread's calls are recorded only while a function is open there.

    during.py SPOOR PROGRAM STEPS

PROGRAM is programs/during.c, STEPS programs/steps.c.
"""
import json
import os
import sys

from fault import Spoor, check, main, run, started, stderr_of

STATUS = 7
REQUESTS = [0, 1, 2, 7, 4] + [2] * 5  # leaves of each


def calls_of(spoor, trace="trace"):
    return {row["function"]: (row["calls"], row["unwound"]) for row in spoor.json("report", "--json", trace)}


def lines_of(spoor, trace="trace"):
    return [json.loads(line) for line in spoor.view("replay", "--json", trace).splitlines()]


def test_balanced(spoor, program):
    for options in [], ["-M", "*"], ["--buffer=4K"], ["--stack=4"]:
        done = run([spoor.path, "record", "--while", "request", "-o", "trace",
                    *options, program])
        check(done.status == STATUS, f"{options}: {done.status}: {stderr_of(done)}")
        calls = calls_of(spoor)
        check(calls["request"] == (len(REQUESTS), 1) and calls["leaf"] == (sum(REQUESTS), 0), f"{options}: {calls}")
        check(not {"other", "main", "work"} & set(calls), f"{options}: {calls}")
        lines = [line for line in lines_of(spoor) if line["kind"] in ("entry", "exit", "unwound")]
        check(all(line["depth"] == 0 for line in lines if line["function"] == "request"), f"{options}: depth")
        check(all(line["depth"] == 1 for line in lines if line["function"] == "leaf"), f"{options}: depth of leaf")
        check(spoor.info()["events"]["lost"] == 0, f"{options}: calls that are left out are no losses")


def test_with_depth(spoor, program):
    done = run([spoor.path, "record", "--while", "request", "-D", "1", "-o", "trace", program])
    check(done.status == STATUS and calls_of(spoor) == {"request": (len(REQUESTS), 1)}, f"{calls_of(spoor)}")


def test_open_at_attach(spoor, steps):
    with started([steps, "700"]) as process:
        process.stdout.readline()
        for function, steps_seen in ("main", True), ("step", True), ("_init", False):
            done = run([spoor.path, "attach", "--while", function, "--duration=200ms", "-o", "trace", str(process.pid)])
            check(done.status == 0, stderr_of(done))
            check(("step" in calls_of(spoor)) == steps_seen, f"{function}: {calls_of(spoor)}")
        check(process.wait() == STATUS, "the program has not ended right")


def test_refusals(spoor, program):
    for words, status, part in ((["--no-follow", "--while", "nothing_such"], 125, "while 'nothing_such'"),
                                (["--while", "request>5ms"], 125, "is not a function"),
                                (["--while", "request", "-F", "leaf"], 125, "none of which is traced"),
                                (["--while", "request", "--overflow=overwrite"], 125, "--overflow=overwrite")):
        done = run([spoor.path, "record", *words, "-o", "refused", program])
        check(done.status == status and part in stderr_of(done), f"{words}: {done.status}: {stderr_of(done)}")


def test(spoor, program, steps):
    test_balanced(spoor, program)
    test_with_depth(spoor, program)
    test_open_at_attach(spoor, steps)
    test_refusals(spoor, program)


if __name__ == "__main__":
    tracer_under_test, paths = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:4]]
    main(lambda: test(tracer_under_test, *paths))
