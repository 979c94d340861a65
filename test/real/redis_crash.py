#!/usr/bin/env python3
"""A thread of redis-server gets a fatal SIGSEGV: the terminal shows what a shell would, and the summary and 'spoor info'
name signal, process, thread, function and stack.

    redis_crash.py SPOOR

Debian's redis-tools has redis-server as redis-check-rdb: that is the same program, which decides by its name.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

THREAD, PORT, PATIENCE = "bio_lazy_free", 17379, 60
SKIP = 77


def check(condition, message):
    if not condition:
        print(f"failed: {message}")
        sys.exit(1)


def names(pid):
    """{name: tid} of the threads of process PID."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as comm:
            found[comm.read().rstrip("\n")] = int(tid)
    return found


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as text:
        return [int(word) for word in text.read().split()]


def wait_for_thread(tracer):
    """(pid, tid) of redis-server and its thread THREAD."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for pid in children(tracer.pid):
            found = names(pid)
            if THREAD in found:
                return pid, found[THREAD]
        check(tracer.poll() is None, f"spoor record has ended: {tracer.returncode}")
        time.sleep(0.1)
    check(False, f"no thread {THREAD}")
    return None


def test(spoor):
    os.symlink(shutil.which("redis-check-rdb"), "redis-server")
    command = [spoor, "record", "-o", "trace", "--", os.path.abspath("redis-server"), "--port", str(PORT), "--bind",
               "127.0.0.1", "--save", "", "--crash-log-enabled", "no"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as tracer:
        pid, tid = wait_for_thread(tracer)
        subprocess.run(["/usr/bin/perl", "-e", f"syscall(234, {pid}, {tid}, 11) == 0 or die"], check=True)
        errors = tracer.communicate(timeout=PATIENCE)[1]
    check(tracer.returncode == 128 + signal.SIGSEGV, f"status {tracer.returncode}: {errors}")
    check("Segmentation fault" in errors.splitlines()[0], f"the first line: {errors}")
    check(THREAD in errors and "SIGSEGV" in errors, f"the summary: {errors}")
    info = json.loads(subprocess.run([spoor, "info", "--json", "trace"], stdout=subprocess.PIPE, check=True).stdout)
    check(len(info["deaths"]) == 1, f"deaths: {info['deaths']}")
    death = info["deaths"][0]
    check((death["signal"], death["tid"], death["thread"]) == ("SIGSEGV", tid, THREAD), f"death: {death}")
    check("redis" in death["process"], f"process: {death['process']}")
    functions = [frame["function"] for frame in death["stack"]]
    check("bioProcessBackgroundJobs" in functions, f"stack: {functions}")


if __name__ == "__main__":
    if not shutil.which("redis-check-rdb"):
        print("redis-tools is not installed")
        sys.exit(SKIP)
    test(os.path.realpath(sys.argv[1]))
