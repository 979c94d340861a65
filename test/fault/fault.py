"""What the tests in this folder share: programs that check themselves (programs/story.h), run under
spoor in several ways."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trace"))
# pylint: disable=wrong-import-position
from harness import SEED, SKIP, Failure, Spoor, check, check_lossless, main, run  # noqa: E402,F401

RIGHT = 42

# The ways to record that treat programs differently.
WAYS = ([], ["-M", "*"], ["-M", "*", "--no-follow"], ["-M", "*", "--overflow=drop", "--buffer=4K"])


def check_right(done, what):
    """A program of this folder has said that all went right for it."""
    check(done.status == RIGHT and done.stdout == b"right\n",
          f"{what}: status {done.status}, said {done.stdout!r}, and:\n"
          + done.stderr.decode(errors="replace"))


def said(done):
    return done.stderr.decode(errors="replace")


def check_runs_right(spoor, command, ways=WAYS, **how):
    """COMMAND does right alone and in each way of recording it; returns the last outcome."""
    check_right(run(command, **how), "alone")
    done = None
    for way in ways:
        done = spoor.record(way, command, **how)
        check_right(done, f"record {' '.join(way)}")
    return done
