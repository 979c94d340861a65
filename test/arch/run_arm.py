#!/usr/bin/env python3
"""Builds a program of the folder a32 or t32 and runs it in QEMU's emulator of processors.

    run_arm.py SOURCE a32|t32 NAME...       NAME.c, with the folder's other files and the backend itself

Ends with the program's status; 77 where compiler or emulator are missing.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

COMPILER, EMULATOR = "arm-linux-gnueabihf-gcc", "qemu-arm-static"
STATES = {"a32": "-marm", "t32": "-mthumb"}


def main():
    source, state, names = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    compiler, emulator = shutil.which(COMPILER), shutil.which(EMULATOR)
    if not compiler or not emulator:
        print(f"{COMPILER} or {EMULATOR} is missing")
        return 77
    here = os.path.join(source, "test/arch", state)
    common = [*glob.glob(os.path.join(here, "*.S")), *glob.glob(os.path.join(here, "ground.c")),
              *sorted(glob.glob(os.path.join(source, "src/arch/arm/*.c")))]
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            program = os.path.join(folder, name)
            subprocess.run([compiler, "-static", STATES[state], "-O1", "-D_GNU_SOURCE",
                            "-I", os.path.join(source, "src"), "-I", here,
                            os.path.join(here, name + ".c"), *common, "-o", program], check=True)
            status |= subprocess.run([emulator, "-cpu", "max", program], check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
