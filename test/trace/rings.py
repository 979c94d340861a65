#!/usr/bin/env python3
"""Small rings and each overflow policy: no deadlock, each lost event is counted, and the program's output is right.

    rings.py SPOOR PROGRAM
"""
import os
import sys

from harness import Spoor, check, check_balanced, check_lossless, check_same_outcome, main, run


def wanted_calls(text):
    rows = (line.split() for line in text.decode().splitlines() if line.startswith("calls: "))
    return {row[1]: int(row[2]) for row in rows}


def calls(spoor):
    return {row["function"]: row["calls"] for row in spoor.report()}


def record(spoor, options, command):
    what = "spoor record " + " ".join(options)
    check_same_outcome(run(command), spoor.record(options, command), what)
    return what, spoor.info()


def test_waiting(spoor, command):
    for options in ["--buffer", "4K"], ["--buffer", "4K", "-M", "*"], ["--buffer", "8K"], []:
        what, info = record(spoor, ["--overflow=wait", *options], command)
        check_lossless(info)
        seen = calls(spoor)
        for function, count in wanted_calls(run(command).stdout).items():
            check(seen.get(function) == count, f"{what}: {function}: {seen.get(function)} calls "
                  f"instead of {count}")


def test_losing(spoor, command, policy):
    wanted = wanted_calls(run(command).stdout)
    filters = [word for function in wanted for word in ("-F", function)]
    what, info = record(spoor, ["--overflow", policy, "--buffer", "4K", *filters], command)
    seen = info["events"]
    kept, lost = seen["entry"] + seen["exit"], seen["lost"]
    check(lost > 0, f"{what}: no event is lost, so this shows nothing")
    check(kept > 0, f"{what}: no event is kept")
    events = 2 * sum(wanted.values())
    check(kept + lost == events, f"{what}: {kept} events kept and {lost} lost of {events}")
    check(f"{lost}".encode() in spoor.view("report", "trace").replace(b" ", b"").replace(b",", b""),
          f"{what}: report does not say that {lost} events were lost")


def test(spoor, program):
    test_waiting(spoor, [program, "8", "11", "20"])
    test_losing(spoor, [program, "8", "11", "20"], "drop")
    test_losing(spoor, [program, "8", "11", "20"], "overwrite")
    check_lossless(record(spoor, ["--overflow=wait", "--buffer=4K"], [program, "1", "14", "5"])[1])
    check_balanced(spoor.replay())


if __name__ == "__main__":
    tracer, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced))
