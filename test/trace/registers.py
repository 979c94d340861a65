#!/usr/bin/env python3
"""No register changes where rings are full either: the program stops spoor (all of it) and then makes
more events than its ring holds, so that its thread waits in the agent, drops them, or goes round.

    registers.py SPOOR PROGRAM

PROGRAM is programs/registers.c, registers-a64.c or registers-arm.c.
"""
import os
import signal
import subprocess
import sys
import threading
import time

from harness import (TIMEOUT, Spoor, check, check_lossless, check_same, lines_of, main, run)

BURST = 400  # calls; a ring of 4 KiB holds 256 events
OFTEN_S = 0.01


class Recording:
    """spoor record of the program, whose output is read here and not by way of spoor."""

    def __init__(self, spoor, program, overflow):
        command = spoor.command([f"--overflow={overflow}", "--buffer=4K"], [program, str(BURST)])
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.done = False

    def again_and_again(self, act):
        """Calls ACT now and then until the program has ended."""
        def loop():
            while not self.done:
                time.sleep(OFTEN_S)
                act(self.process)
        thread = threading.Thread(target=loop)
        thread.start()
        try:
            output, errors = self.process.communicate(timeout=TIMEOUT)
        finally:
            self.done = True
            thread.join()
            self.process.kill()
        return lines_of(output), lines_of(errors), self.process.returncode


def continue_it(process):
    """The program stops spoor and then waits for room."""
    process.send_signal(signal.SIGCONT)


def state(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "none any more"


def kill_where_it_waits(process):
    """The program has stopped spoor, and is waiting for room, or is about to."""
    if state(process.pid) == "T":
        process.kill()


# How shapes are patched that are made for other tiers than a jump: entry, and one of the exits, where it has any.
TIERS = {"shape_narrow": ("hop", "jump"), "shape_remote": ("hop", "hop"), "shape_pad": ("pad", "jump"),
         "shape_pad_before": ("pad", "jump"), "shape_pun": ("pun", "jump"),
         "shape_pun_return": ("jump", "pun"), "shape_jumps_back": ("jump", None)}


def check_tiers(spoor, program, counted):
    """Of each function that is counted entry and exits are patched; of shapes as they are meant to be."""
    rows = {row["function"]: row for row in spoor.json("explain", "--json", program)}
    check(counted, "no calls are counted")
    for name in counted:
        check(rows[name]["entry"] != "none" and not rows[name]["exits"]["none"], f"{name} is not patched: {rows[name]}")
    for name, shape in rows.items():
        if not name.startswith("shape_"):
            continue
        entry, leaving = TIERS.get(name, ("jump", "jump"))
        exits = not leaving or shape["exits"].get(leaving)
        right = shape["entry"] == entry and exits and not shape["exits"]["none"]
        check(right, f"{name} is not patched by {entry} and {leaving}: {shape}")


def check_counts(spoor, wanted):
    """The counts that the program has printed are in the report."""
    seen = {row["function"]: str(row["calls"]) for row in spoor.report()}
    for function, count in wanted.items():
        check(seen.get(function) == count, f"{function}: {seen.get(function)} calls, not {count}")


def test(spoor, program):
    alone = run([program, str(BURST)])
    right = lines_of(alone.stdout)
    wanted = dict(line.split()[1:] for line in right if line.startswith("calls: "))
    check_tiers(spoor, program, wanted)
    for overflow in "wait", "drop", "overwrite":
        act = continue_it if overflow == "wait" else lambda process: None
        output, errors, status = Recording(spoor, program, overflow).again_and_again(act)
        check_same(f"{overflow}: standard output", right, output)
        check(status == 0 and not errors, f"{overflow}: status {status}: {errors}")
        if overflow == "wait":
            check_lossless(spoor.info())
            check_counts(spoor, wanted)
        else:
            check(spoor.info()["events"]["lost"] > BURST, f"{overflow}: too little is lost")
    # Those that wait when spoor is killed go on, without it.
    killed = Recording(spoor, program, "wait")
    output, errors, status = killed.again_and_again(kill_where_it_waits)
    check_same("spoor killed: standard output", right, output)
    check(status == -signal.SIGKILL and not errors, f"spoor is not killed: {status}, {errors}")


if __name__ == "__main__":
    tracer, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced))
