#!/usr/bin/env python3
"""size.py SOURCE: the library takes less than 4 KB on each Cortex-M, and needs nothing.

Compiles spoor_backtrace.c as a program for each core would, and counts what it would have in flash:
code, and constants. What it refers to elsewhere may be symbols of a linker script, which need not be
there, and the compiler's own helpers."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
LIMIT = 4096
CORES = ["armv6-m", "armv7-m", "armv8-m.base", "armv8-m.main"]
PREFIX = "arm-none-eabi-"
IN_FLASH = re.compile(r"^\.(?:text|rodata)\S*\s+(\d+)", re.M)
IN_MEMORY = re.compile(r"^\.(?:data|bss)\S*\s+(\d+)", re.M)


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          check=True, timeout=60).stdout


def complaints(source, core, directory):
    program = os.path.join(directory, core + ".o")
    run([PREFIX + "gcc", "-march=" + core, "-mthumb", "-Os", "-std=c99", "-ffreestanding", "-Wall",
         "-Wextra", "-Werror", "-c", os.path.join(source, "backtrace", "spoor_backtrace.c"), "-o", program])
    sections = run([PREFIX + "size", "-A", program])
    size = sum(map(int, IN_FLASH.findall(sections)))
    print(f"{core:14} {size} bytes")
    if not 0 < size < LIMIT:
        yield f"{core}: {size} bytes, not less than {LIMIT}"
    if sum(map(int, IN_MEMORY.findall(sections))):
        yield f"{core}: has data of its own"
    for line in run([PREFIX + "nm", "-u", program]).splitlines():
        kind, name = line.split()
        if kind != "w" and not name.startswith("__gnu_thumb1_case_"):
            yield f"{core}: needs {name}"


def main():
    if not shutil.which(PREFIX + "gcc"):
        print(PREFIX + "gcc is not installed")
        return SKIP
    source = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        found = [text for core in CORES for text in complaints(source, core, directory)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
