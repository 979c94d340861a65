#!/usr/bin/env python3
"""No register changes while rings are full. The program stops spoor (all of it). Then it makes more events than its
ring holds: its thread waits in the agent, drops events, or overwrites them.

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
    """spoor record of the program. This test reads the program's output directly."""

    def __init__(self, spoor, program, overflow):
        command = spoor.command([f"--overflow={overflow}", "--buffer=4K"], [program, str(BURST)])
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.done = False

    def again_and_again(self, act):
        """Calls ACT repeatedly until the program has ended. Returns its output, messages, and spoor's status."""
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


def continue_spoor(process):
    """Continues spoor: the program has stopped it and waits for room in the ring."""
    process.send_signal(signal.SIGCONT)


def state(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "none any more"


def kill_stopped(process):
    """Kills spoor once the program has stopped it. The program waits for room in the ring, or is about to."""
    if state(process.pid) == "T":
        process.kill()


# {shape for another tier than a jump: (tier of its entry, tier of one of its exits or None)}
TIERS = {"shape_narrow": ("hop", "jump"), "shape_remote": ("hop", "hop"), "shape_pad": ("pad", "jump"),
         "shape_pad_before": ("pad", "jump"), "shape_pun": ("pun", "jump"),
         "shape_pun_return": ("jump", "pun"), "shape_jumps_back": ("jump", None)}


def check_tiers(spoor, program, counted):
    """Entry and exits of each counted function are patched; those of SHAPES have the right tier."""
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
    """The report has the counts that the program has printed."""
    seen = {row["function"]: str(row["calls"]) for row in spoor.report()}
    for function, count in wanted.items():
        check(seen.get(function) == count, f"{function}: {seen.get(function)} calls, not {count}")


def test(spoor, program):
    alone = run([program, str(BURST)])
    right = lines_of(alone.stdout)
    wanted = dict(line.split()[1:] for line in right if line.startswith("calls: "))
    check_tiers(spoor, program, wanted)
    for overflow in "wait", "drop", "overwrite":
        act = continue_spoor if overflow == "wait" else lambda process: None
        output, errors, status = Recording(spoor, program, overflow).again_and_again(act)
        check_same(f"{overflow}: standard output", right, output)
        check(status == 0 and not errors, f"{overflow}: status {status}: {errors}")
        if overflow == "wait":
            check_lossless(spoor.info())
            check_counts(spoor, wanted)
        else:
            check(spoor.info()["events"]["lost"] > BURST, f"{overflow}: too little is lost")
    # Threads that wait for room when spoor is killed go on without it.
    killed = Recording(spoor, program, "wait")
    output, errors, status = killed.again_and_again(kill_stopped)
    check_same("spoor killed: standard output", right, output)
    check(status == -signal.SIGKILL and not errors, f"spoor is not killed: {status}, {errors}")


if __name__ == "__main__":
    tracer, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced))
