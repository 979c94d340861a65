"""Runs a spoor for another processor in QEMU's user-mode emulator. Commands that trace do not work there."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "trace"))

from harness import SKIP  # noqa: E402

EMULATORS = {"AArch64": "qemu-aarch64-static", "ARM": "qemu-arm-static"}


def machine_of(path):
    """The last word of "Machine:" in the ELF header, as readelf prints it."""
    head = subprocess.run(["readelf", "-h", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return next(line.split()[-1] for line in head.splitlines() if "Machine:" in line)


def command_of(inside, sysroot):
    """The command that runs INSIDE with the libraries in SYSROOT. Skips this test if that is not possible."""
    if not os.path.exists(inside) or not shutil.which("readelf"):
        print(f"{inside} is not built (make ARCH=), or readelf is not installed")
        sys.exit(SKIP)
    emulator = EMULATORS[machine_of(inside)]
    if not shutil.which(emulator):
        print(f"{emulator} is not installed")
        sys.exit(SKIP)
    return [emulator, "-L", sysroot, inside]
