#!/usr/bin/env python3
"""A program's signal handler has switched stacks and will return into a trampoline. spoor is killed. Its area stays
mapped until no stack leads there.

    parked_handler.py SPOOR PROGRAM

PROGRAM is programs/parked_handler.c.
"""
import contextlib
import os
import select
import subprocess
import sys

from attach import TIMEOUT, Spoor, check, check_left, code_of, main, run, running, signs_of_spoor

LATER = b"may yet come back"


def send_line(process, line, *answers):
    process.stdin.write(line + b"\n")
    process.stdin.flush()
    check(select.select([process.stdout], [], [], TIMEOUT)[0], f"no answer to {line}")
    got = process.stdout.readline().strip()
    check(got in answers, f"the answer to {line} is {got}, status {process.poll()}")
    return got


def leave_behind(spoor, pid):
    with subprocess.Popen([spoor.path, "attach", "-q", "-o", "trace", "-F", "fetch", str(pid)]) as recorder:
        while run([spoor.path, "ctl", str(pid), "status"]).status:
            check(recorder.poll() is None, f"attach ended with {recorder.returncode}")
        recorder.kill()


def fetch_of(spoor, pid, program):
    """The bytes of the function fetch(), which spoor patches."""
    at = next(row["address"] for row in spoor.json("explain", "--json", program) if row["function"] == "fetch")
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        start = next(int(line.split("-")[0], 16) for line in maps if line.endswith(program + "\n"))
        memory.seek(at if at >= start else start + at) # position-independent
        return memory.read(16)


def detach_around_handler(spoor, process, program):
    pid, before = process.pid, code_of(process.pid)
    own = fetch_of(spoor, pid, program)
    leave_behind(spoor, pid)
    check(fetch_of(spoor, pid, program) != own, "fetch() was not patched")
    send_line(process, b"fault", b"aside, moved")
    for command in ["detach", str(pid)], ["attach", "-o", "trace", "--duration=1ms", str(pid)], ["detach", str(pid)]:
        done = run([spoor.path, *command])
        check(done.status == 1 and LATER in done.stderr, f"{command}: {done}")
        check(fetch_of(spoor, pid, program) == own, f"{command}: fetch() is still patched")
        check(signs_of_spoor(pid), f"{command}: the area is unmapped")
    send_line(process, b"go on", b"done")
    done = run([spoor.path, "detach", str(pid)])
    check(done.status == 0, f"after the handler's return: {done}")
    check_left(pid, before)


@contextlib.contextmanager
def recording(spoor, pid):
    with subprocess.Popen([spoor.path, "attach", "-q", "-o", "trace", "-F", "fetch", str(pid)]) as recorder:
        while run([spoor.path, "ctl", str(pid), "status"]).status:
            check(recorder.poll() is None, f"attach ended with {recorder.returncode}")
        yield
        check(run([spoor.path, "ctl", str(pid), "stop"]).status == 0, "is not stopped")


def attach_to_parked(spoor, process):
    """spoor attaches while the handler is parked: no window contains the place where the handler goes on."""
    before = code_of(process.pid)
    send_line(process, b"fault", b"aside, not moved")
    with recording(spoor, process.pid):
        send_line(process, b"go on", b"done")
    check_left(process.pid, before)


def attach_after_return(spoor, process):
    """The handler's stale frame is not a parked handler: spoor patches all windows."""
    with recording(spoor, process.pid):
        send_line(process, b"call", b"called")
    events = spoor.json("info", "--json", "trace")["events"]
    check((events["entry"], events["exit"]) == (1, 1), f"the call was not seen: {events}")


def test(spoor, program):
    for kind in "made", "own", "forgotten", "known":
        with running([program, kind]) as process:
            attach_to_parked(spoor, process)
            attach_after_return(spoor, process)
            detach_around_handler(spoor, process, program)


if __name__ == "__main__":
    subject, given = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, given))
