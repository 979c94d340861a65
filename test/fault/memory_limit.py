#!/usr/bin/env python3
"""A program with a limit of memory gets as much memory as untraced: spoor raises the limit by the size of its own
memory.

    memory_limit.py SPOOR PROGRAM

PROGRAM is programs/memory_limit.c, which takes all memory that it gets. If spoor may not raise the limit, it says so.
"""
import os
import subprocess
import sys
import time

from fault import RIGHT, Spoor, check, main, run, stderr_of

LIMITS_KB = (3000, 4000, 6000, 12000, 40000, 66000, 67000, 70000, 100000, 200000)
LIMITS_MB = (4, 8, 40, 66, 100)
PATIENCE_S = 60


def limited(program, kb, kind):
    return ["sh", "-c", f"ulimit {kind} -v {kb} && exec {program}"]


def record(spoor, program):
    for kb in LIMITS_KB:
        command = limited(program, kb, "-S")
        alone, traced = run(command), spoor.record(["-M", "*"], command)
        check(alone.status == RIGHT and traced[:1] + traced[2:] == alone[:1] + alone[2:],
              f"{kb} KB: {alone}, {traced}")
        calls = {row["function"]: row["calls"] for row in spoor.report()}
        check(not spoor.is_whole() or calls.get("take") == int(alone.stdout.split()[0]) + 1,
              f"{kb} KB: {alone}, {calls.get('take')} calls")


def forbidden(spoor, program):
    """spoor has not the right to raise a hard limit."""
    without = ["setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource"]
    if run([*without, "true"]).status:
        without = []  # without root this right is missing anyway
    for kb in LIMITS_KB:
        command = limited(program, kb, "")
        alone = run(command)
        done = run([*without, spoor.path, "record", "-o", "trace", "--", *command])
        lines = [line for line in stderr_of(done).splitlines() if "its memory is limited" in line]
        check((done.stdout, done.status) == (alone.stdout, RIGHT) and len(lines) == 1,
              f"{kb} KB, cannot be raised: {alone}, {done}")


def waits(program, mb, tracer=None):
    """Runs PROGRAM while the process that TRACER(pid) starts is attached. Returns its status and output."""
    with subprocess.Popen([program, "waits", str(mb)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        try:
            check(process.stdout.readline() == b"there\n", "the program does not begin")
            attached = tracer and tracer(process.pid)
            output = process.communicate(timeout=PATIENCE_S)[0]
            if attached:
                attached.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    return process.returncode, output


def attach(spoor, program):
    def attach_to(pid):
        tracer = subprocess.Popen([spoor.path, "attach", "-q", "-M", "*", "-o", "trace", str(pid)])
        deadline = time.monotonic() + PATIENCE_S
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            while "memfd:spoor" not in maps.read():
                check(time.monotonic() < deadline and tracer.poll() is None, "spoor does not attach")
                time.sleep(0.001)
                maps.seek(0)
        return tracer

    for mb in LIMITS_MB:
        alone, traced = waits(program, mb), waits(program, mb, attach_to)
        check(alone[0] == RIGHT and alone == traced, f"{mb} MB: {alone}, attached to: {traced}")


def attach_and_detach(spoor, program):
    """spoor lowers the limit again when it detaches."""
    def attach_to(pid):
        done = run([spoor.path, "attach", "-q", "-M", "*", "--duration=50ms", "-o", "trace", str(pid)])
        check(done.status == 0, f"attach: {done}")

    check(waits(program, 40) == waits(program, 40, attach_to), "another amount of memory after detach")


def test(spoor, program):
    record(spoor, program)
    attach(spoor, program)
    attach_and_detach(spoor, program)
    forbidden(spoor, program)


if __name__ == "__main__":
    subject = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(*subject))
