#!/usr/bin/env python3
"""parked_coroutine.py SPOOR PROGRAM

spoor attaches to a program that is on a coroutine's stack (programs/parked_coroutine.c). The program unmaps memory
around that stack and runs on correctly. Callers are recorded as far as they are known."""
import os
import subprocess
import sys

from attach import SKIP, TIMEOUT, Spoor, check, main, run


def send_line(process, line, answer):
    process.stdin.write(line)
    process.stdin.flush()
    got = process.stdout.readline()
    check(got == answer, f"the answer to {line} is {got}, status {process.poll()}")


def attach_and_send(spoor, process):
    command = [spoor.path, "attach", "-o", "trace", "-F", "leaf", "--stack", "--overflow=wait", str(process.pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as recorder:
        while run([spoor.path, "ctl", str(process.pid), "status"]).status: # until it records
            check(recorder.poll() is None, f"attach ended: {recorder.returncode}")
        send_line(process, b"go on\n", b"done\n")
        send_line(process, b"end\n", b"right\n")
        _, stderr = recorder.communicate(timeout=TIMEOUT)
        check(recorder.returncode == 0, f"attach: status {recorder.returncode}: {stderr}")


def check_callers(spoor):
    entries = [item for item in spoor.json_lines("replay", "--json", "--stack", "trace") if item["kind"] == "entry"]
    check(entries, "no call was recorded")
    for item in entries:
        check(item["stack"] and item["stack"][0]["function"] == "coroutine", f"{item}")


def test(spoor, program):
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            if process.stdout.readline() != b"ready\n":
                print("this kernel lays memory out in another way")
                sys.exit(SKIP)
            attach_and_send(spoor, process)
            process.stdin.close()
            check(process.wait(TIMEOUT) == 0, f"the program ended with {process.returncode}")
        finally:
            process.kill()
    check_callers(spoor)


if __name__ == "__main__":
    subject, path = Spoor(os.path.realpath(sys.argv[1])), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, path))
