#!/usr/bin/env python3
"""vfork_execs.py SPOOR PROGRAM

vfork children exec while spoor attaches to their parent and detaches. Their dynamic linkers have the addresses that
spoor's area has in the parent. A child at the first instruction of its program is not in the parent's memory, whatever
its pc is. spoor must not confuse the two."""
import mmap
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from attach import SKIP, TIMEOUT, Spoor, attach, check, main, running

VISITS = 3
PLACES = 6   # tried shifts, in the last sixth of an area, where relocated code is
LEAST_BYTES = 1 << 18  # the C library's area is larger than this, the dynamic linker's smaller
INTERPRETER = re.compile(r"([0-9a-f]+)-\S+ r--p 00000000 \S+ \d+ +(\S*/ld-\S+)\n")
AREA = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r-xp 00000000 00:00 0 *\n")


def maps_of(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return maps.read()


def entry_of(maps):
    found = INTERPRETER.search(maps)
    with open(found[2], "rb") as file:
        return int(found[1], 16) + struct.unpack_from("<Q", file.read(64), 24)[0]


def area_of(pid):
    """(start, size, entry): the largest area of PID below the dynamic linker's entry, and that entry. No area:
    (0, 0, entry)."""
    maps = maps_of(pid)
    entry = entry_of(maps)
    areas = [(int(first, 16), int(end, 16)) for first, end in AREA.findall(maps)]
    return max(((end - first, first) for first, end in areas if end < entry), default=(0, 0)) + (entry,)


def await_area(pid):
    for _ in range(TIMEOUT * 20):
        size, first, entry = area_of(pid)
        if size > LEAST_BYTES:
            return size, first, entry
        time.sleep(0.05)
    return 0, 0, 0


def place(spoor, program):
    with running([*program, "0"]) as process:
        command = [spoor.path, "attach", "-o", "trace", "-M", "*", str(process.pid)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as attached:
            found = await_area(process.pid)
            attached.send_signal(signal.SIGINT)
    return found


def test(spoor, program):
    size, first, entry = place(spoor, program)
    check(size, "no area below the dynamic linker")
    for number in range(PLACES):
        address = first + size * 5 // 6 + number * size // (6 * PLACES)
        shift = (entry - address) // mmap.PAGESIZE * mmap.PAGESIZE
        with running([*program, hex(shift)]) as process:
            for _ in range(VISITS):
                done = attach(spoor, process.pid, "-M", "*", "--duration=3ms")
                check(done.status == 0, f"shifted by {shift:#x}: {done.stderr.decode()}")


if __name__ == "__main__":
    if not shutil.which("setarch"):
        print("setarch is not installed")
        sys.exit(SKIP)
    asked = Spoor(sys.argv[1]), ["setarch", "-R", os.path.realpath(sys.argv[2])]
    main(lambda: test(*asked))
