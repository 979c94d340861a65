#!/usr/bin/env python3
"""Programs that use the gs base themselves are traced until they do, or not at all, and run correctly.

    gs_base.py SPOOR BY PROGRAM

PROGRAM is programs/own_gs_base.c. BY: "call" if it sets the gs base by a system call ("bare": and has no symbols),
"code" if it does so by an instruction ("clear": to 0; "open": in code that no guard can precede), "data" if it does
not, and only data between its code reads so.
"""
import json
import os
import subprocess
import sys
import time

from fault import (RIGHT, SKIP, Spoor, check, check_right, check_runs_right, main, run,
                   stderr_of)

TEXT = "the gs base"
PATIENCE_S = 60
FOOTHOLD = 64  # bytes at the end of text where the first remote calls are made


def check_message(text, what):
    lines = [line for line in text.splitlines() if TEXT in line]
    check(len(lines) == 1 and lines[0].startswith("spoor: process "), f"{what}: not one message: {text}")


def explain(spoor, by, program):
    """Names the function with the instruction, and the file."""
    rows = json.loads(run([spoor.path, "explain", "--json", program]).stdout)
    refused = [row["function"] for row in rows if row["refused"] == "writes-gs"]
    names = {"code": ["take"], "clear": ["take"], "open": ["enter_first", "take"]}.get(by, [])
    check(refused == names, f"explain --json: {refused}")
    text = " ".join(run([spoor.path, "explain", "-F", "use", program]).stdout.decode().split())
    what = "no program that loads" if by == "open" else "a program that calls it is traced until then"
    told = names and f"{names[0]} writes the gs base" in text and what in text
    check(told if names else TEXT not in text, f"explain: {text}")


def record_all(spoor, program):
    check_runs_right(spoor, [program])
    check_right(spoor.record(["-M", "*"], [program]), "record -M '*'")
    calls = {row["function"]: row["calls"] for row in spoor.report()}
    check(calls.get("take") == 1 and calls.get("use") == 1, f"calls: {calls}")


def record(spoor, by, program):
    if by == "data":
        record_all(spoor, program)
        return
    if by != "open":
        check_runs_right(spoor, [program])
        done = run([spoor.path, "record", "-o", "trace", "--", program])
        check_right(done, "record")
        check_message(stderr_of(done), "record")
        if by == "bare":
            return
        calls = {row["function"]: row["calls"] for row in spoor.report()}
        traced = 1 if by == "call" else None
        check(calls.get("take") == traced and "use" not in calls, f"calls before the gs base is set: {calls}")
        return
    for way in [], ["-M", "*"], ["-F", "use"], ["-N", "take"]:
        done = spoor.record(way, [program])
        check(done.status == 125 and not done.stdout, f"record: {done.status}, {done.stdout}")
        check_message(stderr_of(done), "record")


class Waiting:
    """A run of PROGRAM that waits "before" or "behind" its use of the gs base."""

    def __init__(self, program, place):
        self.process = subprocess.Popen([program, place], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = self.process.stdout.readline()
        check(first == b"there\n", f"{place}: {first}")
        with open(f"/proc/{self.process.pid}/maps", encoding="ascii") as maps:
            words = next(line.split() for line in maps if line.split()[1][2] == "x")
        self.range = [int(word, 16) for word in words[0].split("-")]  # of the program's text
        self.text = self.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE_S)
        check(self.process.returncode == RIGHT and out == b"right\n",
              f"attached to: {self.process.returncode}, {out} {err}")

    def read_text(self):
        with open(f"/proc/{self.process.pid}/mem", "rb") as memory:
            memory.seek(self.range[0])
            return memory.read(self.range[1] - self.range[0] - FOOTHOLD)

    def await_spoor(self):
        """Waits for the patches: before, guards are not there either."""
        deadline = time.monotonic() + PATIENCE_S
        while self.read_text() == self.text:
            check(time.monotonic() < deadline, "spoor does not attach")
            time.sleep(0.001)


def attach(spoor, by, program):
    with Waiting(program, "behind") as waiting:
        if by != "clear":  # else nothing of it is there
            done = run([spoor.path, "attach", "-o", "trace", str(waiting.process.pid)])
            check(done.status == 1, f"attach: {done.status}, {stderr_of(done)}")
            check_message(stderr_of(done), "attach")
        waiting.end()
    if by == "open":
        return
    with Waiting(program, "before") as waiting, \
            subprocess.Popen([spoor.path, "attach", "-o", "trace", str(waiting.process.pid)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as tracer:
        try:
            waiting.await_spoor()
            waiting.end()
            text = tracer.communicate(timeout=PATIENCE_S)[1].decode()
        finally:
            tracer.kill()
        check(tracer.returncode == 0, f"attach: {tracer.returncode}, {text}")
        check_message(text, "attach")


def test(spoor, by, program):
    if run([program]).status == SKIP:
        print("this processor, or its kernel, does not let programs write the gs base")
        sys.exit(SKIP)
    if by != "bare":
        explain(spoor, by, program)
    record(spoor, by, program)
    if by != "data":
        attach(spoor, by, program)


if __name__ == "__main__":
    subject = Spoor(sys.argv[1]), sys.argv[2], os.path.realpath(sys.argv[3])
    main(lambda: test(*subject))
