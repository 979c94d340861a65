#!/usr/bin/env python3
"""clockless.py INSIDE SYSROOT

Runs INSIDE, a spoor for 32-bit Arm, on a machine whose counter programs cannot read: QEMU's user-mode
emulator gives 32-bit programs none. spoor prints one line, starts no program and writes no file."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "trace"))

from harness import SKIP, check, main  # noqa: E402

EMULATOR = "qemu-arm-static"
WHY = "spoor: this machine cannot record: programs cannot read its counter"


def refused(spoor, *words):
    done = subprocess.run([*spoor, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    check(done.stderr.startswith(WHY) and done.stderr.count("\n") == 1 and not done.stdout,
          f"{words[0]} says:\n{done.stdout}{done.stderr}")
    check(not os.listdir("."), f"{words[0]} left {os.listdir('.')}")
    return done.returncode


def test(spoor):
    check(refused(spoor, "record", "--", "/bin/sh", "-c", "echo ran; touch ran") == 125, "record: not status 125")
    check(refused(spoor, "attach", str(os.getpid())) == 1, "attach: not status 1")
    help_of_view = subprocess.run([*spoor, "report", "--help"], stdout=subprocess.PIPE, check=False)
    check(help_of_view.returncode == 0 and help_of_view.stdout, "report --help does not work")


if __name__ == "__main__":
    inside, sysroot = map(os.path.realpath, sys.argv[1:])
    if not os.path.exists(inside) or not shutil.which(EMULATOR):
        print(f"{inside} is not built (make ARCH=arm), or {EMULATOR} is not installed")
        sys.exit(SKIP)
    main(lambda: test([EMULATOR, "-L", sysroot, inside]))
