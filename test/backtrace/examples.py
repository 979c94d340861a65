#!/usr/bin/env python3
"""examples.py SOURCE_ROOT SPOOR: the program of backtrace/examples says on each board where it has faulted, and
spoor names that."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
MACHINES = {"microbit": "microbit", "an385": "mps2-an385", "an386": "mps2-an386", "an505": "mps2-an505"}
CALLS = ["checksum", "send_packet", "send_all", "reset"]
SECONDS = 60


def log_of(directory, board):
    """What it says up to its last line, where it stands still."""
    command = ["timeout", str(SECONDS), "qemu-system-arm", "-M", MACHINES[board], "-kernel", board, "-display",
               "none", "-monitor", "none", "-serial", "stdio"]
    lines = []
    with subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        for line in process.stdout:
            lines.append(line)
            if line in (b"no way\n", b"end\n"):
                break
        process.terminate()
    return b"".join(lines)


def check_board(spoor, directory, board):
    log = log_of(directory, board)
    named = subprocess.run([spoor, "symbolize", board], cwd=directory, input=log, stdout=subprocess.PIPE,
                           check=True).stdout.decode()
    names = re.findall(r"(?m)^#\d+ 0x[0-9a-f]{8} \((\w+)[.\w]*\+0x[0-9a-f]+ at \S*main\.c:\d+\)$", named)
    if names != CALLS or "spoor: HardFault" not in named:
        sys.exit(f"{board}: {names} in\n{named}")


def main(source, spoor):
    for tool in ("make", "arm-none-eabi-gcc", "qemu-system-arm"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            sys.exit(SKIP)
    with tempfile.TemporaryDirectory() as directory:
        shutil.copytree(os.path.join(source, "backtrace"), os.path.join(directory, "backtrace"))
        examples = os.path.join(directory, "backtrace", "examples")
        subprocess.run(["make", "-s", "clean", "all"], cwd=examples, check=True)
        for board in MACHINES:
            check_board(spoor, examples, board)


if __name__ == "__main__":
    main(sys.argv[1], os.path.realpath(sys.argv[2]))
