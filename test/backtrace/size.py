#!/usr/bin/env python3
"""size.py SOURCE: the library takes less than 4 KB on each Cortex-M, with each compiler, and needs no other library.

Compiles spoor_backtrace.c for each core and counts its bytes of flash: code and constants. Undefined symbols may only
be optional symbols of a linker script, and helpers of the compiler."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
LIMIT = 4096
HARD = "-mfloat-abi=hard"
CORES = {"armv6-m": [], "armv7-m": [], "armv7e-m": [], "armv8-m.base": [], "armv8-m.main": [],
         "armv8.1-m.main": ["-mfloat-abi=soft"],
         "armv7e-m with floating point": ["-mfpu=fpv4-sp-d16", HARD],
         "armv8-m.main with floating point": ["-mfpu=fpv5-sp-d16", HARD],
         "armv8.1-m.main with vectors": ["-march=armv8.1-m.main+mve.fp", HARD]}
PREFIX = "arm-none-eabi-"
# By default Clang keeps frame pointers and makes unwind tables for C; GCC does not.
COMPILERS = {"gcc": [PREFIX + "gcc"],
             "clang": ["clang", "--target=arm-none-eabi", "-fomit-frame-pointer", "-fno-unwind-tables"]}
IN_FLASH = re.compile(r"^\.(?:text|rodata)\S*\s+(\d+)", re.M)
IN_MEMORY = re.compile(r"^\.(?:data|bss)\S*\s+(\d+)", re.M)


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          check=True, timeout=60).stdout


def complaints(source, compiler, core, directory):
    program = os.path.join(directory, "library.o")
    run([*COMPILERS[compiler], "-march=" + core.split()[0], *CORES[core], "-mthumb", "-Os", "-std=c99",
         "-ffreestanding", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c",
         os.path.join(source, "backtrace", "spoor_backtrace.c"), "-o", program])
    sections = run([PREFIX + "size", "-A", program])
    size = sum(map(int, IN_FLASH.findall(sections)))
    name = f"{compiler}, {core}"
    print(f"{name:40} {size} bytes")
    if not 0 < size < LIMIT:
        yield f"{name}: {size} bytes, not less than {LIMIT}"
    if sum(map(int, IN_MEMORY.findall(sections))):
        yield f"{name}: has data of its own"
    for line in run([PREFIX + "nm", "-u", program]).splitlines():
        kind, symbol = line.split()
        if kind != "w" and not symbol.startswith("__gnu_thumb1_case_"):
            yield f"{name}: needs {symbol}"


def main():
    for tool in (PREFIX + "gcc", "clang"):
        if not shutil.which(tool):
            print(tool + " is not installed")
            return SKIP
    source = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        found = [text for compiler in COMPILERS for core in CORES
                 for text in complaints(source, compiler, core, directory)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
