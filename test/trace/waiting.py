#!/usr/bin/env python3
"""Events that wait for a free processor: on one processor, and with little memory, none is lost, and what is written
uncompressed is told, and can be compressed later.

    waiting.py SPOOR PROGRAM
"""
import os
import re
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run


def wanted_calls(text):
    rows = (line.split() for line in text.decode().splitlines() if line.startswith("calls: "))
    return {row[1]: int(row[2]) for row in rows}


def check_calls(spoor, wanted, what):
    seen = {row["function"]: row["calls"] for row in spoor.report()}
    for function, count in wanted.items():
        check(seen.get(function) == count, f"{what}: {function}: {seen.get(function)} calls instead of {count}")


def record(spoor, options, command):
    """Records on one processor, which program and drainer share with the threads that compress."""
    what = "spoor record " + " ".join(options)
    alone, traced = run(command), run([spoor.path, "record", "-o", "trace", *options, "--", *command])
    summary = traced.stderr.decode()
    check_same_outcome(alone, traced._replace(stderr=b""), what)
    info = spoor.info()
    check_lossless(info)
    check_calls(spoor, wanted_calls(alone.stdout), what)
    return summary, info


def check_little_memory(spoor, command):
    summary, info = record(spoor, ["--memory=1M"], command)
    packing, size = info["packing"], info["bytes"]
    check(0 < packing["unpacked_bytes"] < size, f"unpacked: {packing} of {size} bytes")
    check(packing["unpacked_blocks"] > 1, f"unpacked: {packing}")
    check(packing["waiting_bytes"] == 0, f"more than 8 MiB waited: {packing}")
    check(size <= 3 * info["events"]["entry"], f"{size} bytes for {info['events']['entry']} calls")
    check(f"({packing['unpacked_bytes'] / 1e6:.1f} MB of it unpacked)" in summary, summary)
    text = spoor.view("info", "trace").decode()
    check(f"{packing['unpacked_blocks']} blocks not compressed" in text, text)


def check_packed_anew(spoor):
    spoor.view("export", "--format=spoor", "-o", "packed", "trace")
    for view in ["report"], ["graph"], ["info"], ["export", "--format=csv"]:
        old, new = spoor.view(*view, "trace"), spoor.view(*view, "packed")
        if view == ["info"]:
            old, new = (re.sub(rb"(?m)^(file|unpacked) .*\n", b"", text) for text in (old, new))
        check(old == new, f"{view}: differs")
    packing = spoor.info("packed")["packing"]
    check(packing["unpacked_bytes"] == 0, f"packed: {packing}")
    check(os.path.getsize("packed") < os.path.getsize("trace") / 2, "packed: is not smaller")
    refused = run([spoor.path, "export", "--format=spoor", "-o", "trace", "trace", "-D1"])
    check(refused.status == 2 and b"give -o and no filter" in refused.stderr, f"{refused}")


def check_much_memory(spoor, command):
    _, info = record(spoor, ["--memory=512M"], command)
    check(info["packing"]["waiting_bytes"] <= 512 << 20, f"{info['packing']}")


def test(spoor, program):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    command = [program, "1", "16", "20"]
    check_little_memory(spoor, command)
    check_packed_anew(spoor)
    check_much_memory(spoor, command)


if __name__ == "__main__":
    tracer, traced_program = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced_program))
