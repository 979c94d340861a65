#!/usr/bin/env python3
"""spoor attaches to a program and detaches, many times in a row, each time briefly. Memory and descriptors of the
program do not grow. A program that starts threads at a rate keeps that rate. Prints how long the program stood still.

    repeated_attach.py --visits=N [--moment=TIME] [--from=DIRECTORY] SPOOR PROGRAM [ARGUMENT...]

--from: runs a copy of the program in DIRECTORY, to test another file system.
"""
import os
import re
import shutil
import statistics
import sys
import tempfile
import time

from attach import (SKIP, Failure, Spoor, attach, check, check_left, code_of, main, private_text, running,
                    shows_its_files)

STOP_TIMES = re.compile(r"stopped for ([0-9.]+) +(\w+) at attach, for ([0-9.]+) +(\w+)")
MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}
PACE = r"(?:(\d+) of (\d+) threads a second\n)?"
MOST_PRIVATE_KB = os.sysconf("SC_PAGESIZE") // 1024  # the page from which the first remote call is made
LEAST_PACE = 0.9  # of the rate: the program may not have caught up after the last stop
RESERVE = 4       # a machine is fast enough if the program alone reaches this multiple of the rate
WAYS = ([], ["-M", "*"], ["-M", "*", "--overflow=wait"])


def holdings_of(pid):
    """How many files process PID has open, and how many maps of files."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        named = [line for line in maps if "/" in line]
    return len(os.listdir(f"/proc/{pid}/fd")), len(named)


def visit(spoor, pid, moment, way):
    done = attach(spoor, pid, f"--duration={moment}", *way)
    stderr = done.stderr.decode()
    check(done.status == 0, f"attach ended with {done.status}: {stderr}")
    stop_times = STOP_TIMES.search(stderr)
    check(stop_times, f"does not say how long the process stood: {stderr}")
    return [float(stop_times[i]) * MILLISECONDS[stop_times[i + 1]] for i in (1, 3)]


def pace_alone(program, rate):
    with running([program, "births", str(rate)], PACE) as process:
        time.sleep(1)
    return int(process.reported[1])


def check_pace(program, pace, rate):
    """Threads begin at RATE, unless the machine is too busy for that even without spoor."""
    if pace >= LEAST_PACE * rate:
        return
    alone = pace_alone(program, RESERVE * rate)
    if alone < LEAST_PACE * RESERVE * rate:
        print(f"the machine is too busy: {pace} of {rate} threads a second, {alone} at most without spoor")
        sys.exit(SKIP)
    raise Failure(f"{pace} of {rate} threads begin in a second, but {alone} without spoor")


def test(spoor, visits, moment, command):
    stop_times, events = [], 0
    with running(command, PACE) as process:
        before, held = code_of(process.pid), holdings_of(process.pid)
        for number in range(visits):
            try:
                stop_times.append(visit(spoor, process.pid, moment, WAYS[number % len(WAYS)]))
                check_left(process.pid, before)
            except Failure as failure:
                raise Failure(f"visit {number}: {failure}") from failure
            events += spoor.json("info", "--json", "trace")["events"]["entry"]
        check(events > 0, "no event")
        check(private_text(process.pid) <= MOST_PRIVATE_KB or not shows_its_files(process.pid),
              f"{private_text(process.pid)} KB of its code are private copies")
        check(holdings_of(process.pid) == held, f"holds {holdings_of(process.pid)} instead of {held}")
    print(f"{visits} visits, {events} calls; stood still in ms (median, most): " +
          "; ".join(f"{name} {statistics.median(times):.2f}, {max(times):.2f}"
                    for name, times in zip(("attach", "leave"), zip(*stop_times))))
    if process.reported[1]:
        print(process.reported[0].splitlines()[0])
        check_pace(command[0], *map(int, process.reported.groups()))


def option(name, default):
    return next((w.split("=")[1] for w in sys.argv[1:] if w.startswith(f"--{name}=")), default)


def test_from(folder, spoor, visits, moment, command):
    with tempfile.TemporaryDirectory(dir=folder) as place:
        test(spoor, visits, moment, [shutil.copy(command[0], place), *command[1:]])


if __name__ == "__main__":
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    program = [os.path.realpath(words[1]), *words[2:]]
    how = (Spoor(words[0]), int(option("visits", "10")), option("moment", "1ms"), program)
    source = option("from", None)
    if source and not os.access(source, os.W_OK):
        print(f"{source} cannot be written")
        sys.exit(SKIP)
    main(lambda: test_from(source, *how) if source else test(*how))
