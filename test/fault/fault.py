"""Shared by the tests in this folder: running programs that check themselves (programs/self_check.h) with several
options, and waiting for processes that are orphaned when spoor is killed."""
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trace"))
# pylint: disable=wrong-import-position
from harness import (SEED, SKIP, TIMEOUT, Failure, Spoor, check, check_lossless,  # noqa: E402,F401
                     main, rounds, run)

RIGHT = 42

# Options of record that spoor treats differently.
WAYS = ([], ["-M", "*"], ["-M", "*", "--no-follow"], ["-M", "*", "--overflow=drop", "--buffer=4K"])


def check_right(done, what):
    """DONE is the outcome of a program of this folder that has found everything right."""
    check(done.status == RIGHT and done.stdout == b"right\n",
          f"{what}: status {done.status}, printed {done.stdout!r}, and:\n"
          + done.stderr.decode(errors="replace"))


def stderr_of(done):
    return done.stderr.decode(errors="replace")


def check_runs_right(spoor, command, ways=WAYS, **how):
    """COMMAND ends right, alone and recorded in each of WAYS. Returns the last outcome."""
    alone = run(command, **how)
    if alone.status == SKIP:
        print("the program cannot run on this machine")
        sys.exit(SKIP)
    check_right(alone, "alone")
    done = None
    for way in ways:
        done = spoor.record(way, command, **how)
        check_right(done, f"record {' '.join(way)}")
    return done


# ---- processes that are left when spoor is killed ----

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = TIMEOUT // 4


def adopt_orphans():
    """Makes orphans children of this process, so that none outlives it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as list_of:
        return [int(pid) for pid in list_of.read().split()]


def kill_children():
    for child in children():
        os.kill(child, signal.SIGKILL)


def describe_children():
    texts = []
    for pid in children():
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            texts += [f"{pid}: " + "; ".join(status.read().split("\n")[:8])]
    return "\n".join(texts)


def await_orphans(what):
    """Waits for all children of this process. Returns their exit statuses."""
    deadline, ends = time.monotonic() + PATIENCE_S, []
    while children():
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            ends.append(os.waitstatus_to_exitcode(status))
        elif time.monotonic() > deadline:
            raise Failure(f"{what}: processes do not end:\n{describe_children()}")
        else:
            time.sleep(0.001)
    return ends


def communicate(tracer, what):
    """Returns (stdout, stderr) when both spoor and the program have ended: they have the same pipes."""
    try:
        return tracer.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{what}: does not end; processes:\n{describe_children()}") from late


@contextlib.contextmanager
def started(command, **how):
    """Runs COMMAND inside the with block. On an error kills it and its children."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **how) as tracer:
        try:
            yield tracer
        except BaseException:
            tracer.kill()
            kill_children()  # they hold the pipes open
            raise
