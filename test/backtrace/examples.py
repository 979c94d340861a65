#!/usr/bin/env python3
"""examples.py SOURCE_ROOT SPOOR: on each board the program of backtrace/examples prints the addresses of its fault, and
spoor names them. On A32, T32 and A64 it also prints the kind of fault, and a handler may go on after the fault."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
ARM, AARCH64 = ["qemu-system-arm", "-M"], ["qemu-system-aarch64", "-cpu", "cortex-a57", "-M"]
VIRT = ["virt", "-nic", "none"]  # a network card would need another package (ipxe-qemu)
BOARDS = {"microbit": ARM + ["microbit"], "an385": ARM + ["mps2-an385"], "an386": ARM + ["mps2-an386"],
          "an505": ARM + ["mps2-an505"], "a15": ARM + VIRT, "a15-thumb": ARM + VIRT, "a57": AARCH64 + VIRT}
WITHOUT_M = ["a15", "a15-thumb", "a57"]
NOWHERE = "0x0f000000"
FAULTS = {f"*(volatile int *){NOWHERE} = 1": "data abort: external abort write",
          f"((void (*)(void)){NOWHERE})()": "(prefetch|instruction) abort: external abort"}
CALLS = ["checksum", "send_packet", "send_all", "reset"]
SECONDS = 60


def log_of(directory, board):
    """The board's output up to its last line, where the program halts."""
    command = ["timeout", str(SECONDS), *BOARDS[board], "-kernel", board, "-display", "none", "-monitor",
               "none", "-serial", "stdio"]
    lines = []
    with subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        for line in process.stdout:
            lines.append(line)
            if line in (b"no way\n", b"end\n", b"right\n", b"wrong\n"):
                break
        process.terminate()
    return b"".join(lines)


def check_board(spoor, directory, board, fault):
    log = log_of(directory, board)
    named = subprocess.run([spoor, "symbolize", board], cwd=directory, input=log, stdout=subprocess.PIPE,
                           check=True).stdout.decode()
    names = re.findall(r"(?m)^#\d+ 0x[0-9a-f]+ \((\w+)[.\w]*\+0x[0-9a-f]+ at \S*main\.c:\d+\)(?: \?)?$", named)
    if names != CALLS or not re.search(f"(?m)^spoor: {fault}", named):
        sys.exit(f"{board}, {fault}: {names} in\n{named}")


def check_faults(spoor, directory):
    for statement, text in FAULTS.items():
        subprocess.run(["make", "-s", "-B", *WITHOUT_M, "FAULT=" + statement], cwd=directory, check=True)
        for board in WITHOUT_M:
            check_board(spoor, directory, board, f"(EL1 )?{text} at 0*{NOWHERE[3:]}")


def check_going_on(directory, program):
    shutil.copy(program, os.path.join(directory, "main.c"))
    subprocess.run(["make", "-s", "-B", *WITHOUT_M], cwd=directory, check=True)
    for board in WITHOUT_M:
        log = log_of(directory, board)
        if log != b"right\n":
            sys.exit(f"{board}: {log}")


def main(source, spoor):
    for tool in ("make", "arm-none-eabi-gcc", "aarch64-linux-gnu-gcc", "qemu-system-arm",
                 "qemu-system-aarch64"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            sys.exit(SKIP)
    with tempfile.TemporaryDirectory() as directory:
        shutil.copytree(os.path.join(source, "backtrace"), os.path.join(directory, "backtrace"))
        examples = os.path.join(directory, "backtrace", "examples")
        subprocess.run(["make", "-s", "clean", "all"], cwd=examples, check=True)
        for board in BOARDS:
            check_board(spoor, examples, board,
                        "(EL1 )?undefined instruction" if board in WITHOUT_M else "HardFault")
        check_faults(spoor, examples)
        check_going_on(examples, os.path.join(source, "test", "backtrace", "programs", "resumes.c"))


if __name__ == "__main__":
    main(sys.argv[1], os.path.realpath(sys.argv[2]))
