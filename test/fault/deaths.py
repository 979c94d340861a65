#!/usr/bin/env python3
"""A program that a signal ends: the terminal shows what a shell would, and the summary and 'spoor info' name the signal,
the thread, the function and its line, and the calls on the stack.

    deaths.py SPOOR PROGRAM SOURCE

PROGRAM is programs/deaths.c, SOURCE its text.
"""
import os
import re
import signal
import sys

from fault import Spoor, check, main, run, stderr_of

# way: (signal, text of a shell, thread, function, comment at its line, functions of the stack above it)
WAYS = {
    "thread": ("SEGV", "Segmentation fault", "worker", "load", "loads", ["work"]),
    "alone": ("SEGV", "Segmentation fault", "worker", "load", "loads", ["work"]),
    "again": ("SEGV", "Segmentation fault", "worker", "load", "loads", ["work"]),
    "abort": ("ABRT", "Aborted", "deaths", "give_up", "aborts", ["end", "main"]),
    "term": ("TERM", "Terminated", "deaths", "end", "terminates", ["main"]),
    "nowhere": ("SEGV", "Segmentation fault", "deaths", "end", "calls nothing", ["main"]),
    "overflow": ("SEGV", "Segmentation fault", "deaths", "recurse", None, ["recurse"] * 900),
    "kill": ("KILL", "Killed", None, None, None, []),
}


def line_of(source, comment):
    with open(source, encoding="ascii") as text:
        return next(i for i, line in enumerate(text, 1) if f"/* {comment} */" in line)


def only_death(spoor, what):
    deaths = spoor.info()["deaths"]
    check(len(deaths) == 1, f"{what}: {len(deaths)} deaths")
    return deaths[0]


def check_death(death, way, source):
    name, _, thread, function, comment, callers = WAYS[way]
    check(death["signal"] == f"SIG{name}", f"{way}: {death['signal']}")
    check(death["process"] in ("deaths", "fault-deaths"), f"{way}: process {death['process']}")
    if thread is None:
        check(death["tid"] is None and death["stack"] == [], f"{way}: a thread got SIGKILL: {death}")
        return
    check(death["thread"] in (thread, f"fault-{thread}"), f"{way}: thread {death['thread']}")
    stack = death["stack"]
    place = stack[death["place"]]
    check(place["function"] == function, f"{way}: in {place}, of {stack}")
    if comment:
        check(place["line"] == line_of(source, comment) and place["file"].endswith("deaths.c"), f"{way}: {place}")
    above = [frame["function"] for frame in stack[death["place"] + 1:]]
    check(above[:len(callers)] == callers, f"{way}: callers {above[:20]}")


def check_messages(text, way, pid):
    name, shell, _, function, _, _ = WAYS[way]
    lines = text.split("\n")
    check(re.fullmatch(re.escape(shell) + r"( \(core dumped\))?", lines[0]), f"{way}: {lines[0]}")
    check(lines[1].startswith(f"spoor: process {pid} (") and f"killed by SIG{name}" in lines[1], f"{way}: {lines[1]}")
    check(not function or f"in {function} at " in lines[1] and ".c:" in lines[1], f"{way}: {lines[1]}")


def test(spoor, program, source):
    for way, (name, *_) in WAYS.items():
        for options in [], ["-M", "*"]:
            done = run([spoor.path, "record", "-o", "trace", *options, program, way])
            number = getattr(signal, f"SIG{name}")
            check(done.status == 128 + number, f"{way}: status {done.status}")
            death = only_death(spoor, way)
            check_death(death, way, source)
            check_messages(stderr_of(done), way, death["pid"])
    done = run([spoor.path, "record", "-o", "trace", program, "child"])
    check(done.status == 3 and not stderr_of(done).startswith("Aborted"), f"child: {stderr_of(done)}")
    check_death(only_death(spoor, "child"), "abort", source)
    check("killed by SIGABRT" in stderr_of(done) and "give_up at" in stderr_of(done), f"child: {stderr_of(done)}")
    done = run([spoor.path, "record", "-o", "trace", program, "survive"])
    check(done.status == 0 and spoor.info()["deaths"] == [] and "killed" not in stderr_of(done), stderr_of(done))


if __name__ == "__main__":
    tracer, words = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:4]]
    main(lambda: test(tracer, *words))
