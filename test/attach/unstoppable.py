#!/usr/bin/env python3
"""A thread is in an uninterruptible wait when spoor has to detach. spoor detaches all the same; the other threads are
not affected.

    unstoppable.py SPOOR PROGRAM

PROGRAM is programs/unstoppable.c.
"""
import os
import select
import signal
import subprocess
import sys
import time

from attach import TIMEOUT, Spoor, check, check_left, code_of, main, run, running, signs_of_spoor

PATIENCE_S = 5  # how long spoor waits for a thread


def send_line(process, line, answer):
    process.stdin.write(line + b"\n")
    process.stdin.flush()
    check(select.select([process.stdout], [], [], TIMEOUT)[0], f"no answer to {line}")
    got = process.stdout.readline().strip()
    check(got == answer, f"the answer to {line} is {got}, status {process.poll()}")


def leave(spoor, program, urge):
    with running([program]) as process:
        before = code_of(process.pid)
        with subprocess.Popen([spoor.path, "attach", "-q", "-o", "trace", "-M", "*", str(process.pid)]) as recorder:
            while run([spoor.path, "ctl", str(process.pid), "status"]).status:
                check(recorder.poll() is None, f"attach ended with {recorder.returncode}")
            send_line(process, b"wait", b"waits")
            recorder.send_signal(signal.SIGINT)
            begun = time.monotonic()
            while urge and signs_of_spoor(process.pid) and time.monotonic() - begun < TIMEOUT / 2:
                recorder.send_signal(signal.SIGINT)
                time.sleep(0.2)
            try:
                status = recorder.wait(timeout=TIMEOUT / 4)
            except subprocess.TimeoutExpired:
                recorder.kill()
                status = None
            check(status == 0, f"attach ended with {status}")
            if not urge:
                check(time.monotonic() - begun >= PATIENCE_S, "spoor has not waited")
        check_left(process.pid, before)
        send_line(process, b"go on", b"done")


def test(spoor, program):
    for urge in (False, True):
        leave(spoor, program, urge)


if __name__ == "__main__":
    subject, given = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, given))
