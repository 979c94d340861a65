#!/usr/bin/env python3
"""Views of a part of python3's trace show the calls of the whole view, and read a part of the file.

    seek.py SPOOR
"""
import csv
import io
import os
import random
import re
import shutil
import sys

from harness import SKIP, Spoor, check, check_same_outcome, main, run

PYTHON = "/usr/bin/python3"
PROGRAM = """
import threading
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def work(n):
    for i in range(n):
        try:
            sorted(str(fib(8)) + str(k) for k in range(40))
            raise ValueError(i)
        except ValueError:
            pass
threads = [threading.Thread(target=work, args=(25,)) for _ in range(3)]
for thread in threads:
    thread.start()
work(25)
for thread in threads:
    thread.join()
"""
SPANS = 8


def rows_of(spoor, *options):
    text = spoor.view("export", "--format=csv", *options, "trace").decode()
    return list(csv.DictReader(io.StringIO(text)))


def key(row):
    """All of a call but whether it goes beyond the span."""
    return tuple(row[name] for name in row if name != "clipped")


def end_of(row):
    return int(row["start_ns"]) + int(row["duration_ns"]) + int(row["paused_ns"])


def read_bytes(spoor, *options):
    """How many bytes a view reads, by strace."""
    run(["strace", "-f", "-e", "trace=read,pread64", "-o", "calls", spoor.path, "export", "--format=csv", *options,
         "trace"])
    with open("calls", encoding="ascii", errors="replace") as lines:
        return sum(int(found[1]) for found in (re.search(r"= (\d+)$", line) for line in lines) if found)


def test(spoor):
    command = [PYTHON, "-S", "-c", PROGRAM]
    options = ["-M", "*", "--overflow=wait"]
    check_same_outcome(run(command), spoor.record(options, command), " ".join(options))
    rows = rows_of(spoor)
    check(len(rows) > 150000, f"only {len(rows)} calls: too few for several blocks")
    last = max(map(end_of, rows))
    dice = random.Random(1)
    for _ in range(SPANS):
        since = dice.randrange(last)
        until = since + int(last * dice.random() ** 6 / 4)
        found = rows_of(spoor, f"--since={since}ns", f"--until={until}ns")
        wanted = [row for row in rows if int(row["start_ns"]) <= until and end_of(row) >= since]
        check(sorted(map(key, found)) == sorted(map(key, wanted)),
              f"{since} to {until}: {len(found)} calls instead of {len(wanted)}")
    one = len(rows_of(spoor, "--since=50%", "--until=50.001%"))
    check(0 < one < len(rows) / 10, f"--since=50% --until=50.001%: {one} of {len(rows)} calls")
    size = os.path.getsize("trace")
    part = read_bytes(spoor, "--since=99%")
    check(part < size * 0.6, f"--since=99% reads {part} of {size} bytes")


if __name__ == "__main__":
    if not shutil.which("strace") or not os.path.exists(PYTHON):
        print("strace or python3 is not installed")
        sys.exit(SKIP)
    tracer = Spoor(sys.argv[1])
    main(lambda: test(tracer))
