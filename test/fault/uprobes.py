#!/usr/bin/env python3
"""The kernel has a probe (uprobe) in a function. spoor does not patch this function, so the probe counts each call.
spoor records the calls of all others.

    uprobes.py SPOOR PROGRAM LIBRARY

PROGRAM is programs/plain.c.
"""
import ctypes
import os
import platform
import struct
import sys

from fault import SKIP, Spoor, check, check_right, main

SYS_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}.get(platform.machine(), 364)  # 32-bit Arm's
TYPE = "/sys/bus/event_source/devices/uprobe/type"
ATTR_BYTES = 112
PROBED = "work"


class Probe:
    """A uprobe at function NAME of PROGRAM, for all processes and processors."""

    def __init__(self, spoor, program, name):
        with open(TYPE, encoding="ascii") as kind:
            number = int(kind.read())
        path = ctypes.create_string_buffer(os.fsencode(program))
        attr = bytearray(ATTR_BYTES)
        struct.pack_into("<II", attr, 0, number, ATTR_BYTES)
        struct.pack_into("<QQ", attr, 56, ctypes.addressof(path), offset_of(spoor, program, name))
        call = ctypes.CDLL(None, use_errno=True).syscall
        given = (ctypes.c_char * ATTR_BYTES).from_buffer(attr)
        self.counters = []
        for cpu in sorted(os.sched_getaffinity(0)):
            counter = call(SYS_PERF_EVENT_OPEN, given, -1, cpu, -1, 0)
            if counter < 0:
                raise OSError(ctypes.get_errno(), "perf_event_open")
            self.counters.append(counter)

    def count(self):
        return sum(struct.unpack("<Q", os.read(counter, 8))[0] for counter in self.counters)


def offset_of(spoor, program, name):
    """The file offset of function NAME. In PROGRAM, addresses of code equal file offsets."""
    return next(row["address"] for row in spoor.json("explain", "--json", program) if row["function"] == name)


def calls_of(spoor, command):
    check_right(spoor.record(["--overflow=wait"], command), "record")
    return {row["function"]: row["calls"] for row in spoor.report()}


def test(spoor, program, library):
    command = [program, library]
    alone = calls_of(spoor, command)
    check(alone.get(PROBED, 0) > 1, f"without a probe: {alone}")
    try:
        probe = Probe(spoor, program, PROBED)
    except OSError as error:
        print(f"the kernel cannot set a probe: {error}")
        sys.exit(SKIP)
    probed = calls_of(spoor, command)
    check(probe.count() >= alone[PROBED], f"the probe has counted {probe.count()} calls of {alone[PROBED]}")
    check(PROBED not in probed, f"the probed function is traced: {probed}")
    del alone[PROBED]
    check(probed == alone, f"calls of other functions: {probed}, not {alone}")


if __name__ == "__main__":
    subject, files = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:]]
    main(lambda: test(subject, *files))
