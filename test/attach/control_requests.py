#!/usr/bin/env python3
"""Control requests (spoor ctl): which users may send them, and recordings of several kinds that obey them: of a
launched program, of a program that executes itself, with breakpoints, with --libcalls. Also: two spoors that
attach at the same time.

    control_requests.py SPOOR BUSY RELATED_TASKS
"""
import os
import platform
import subprocess
import sys
import time

from attach import TIMEOUT, Spoor, check, check_left, code_of, main, run, running, signs_of_spoor

NOBODY, OTHER = 65534, 65533


class Recording:
    """A recording of process PID by COMMAND. At the end "ctl stop" ends it."""

    def __init__(self, spoor, pid, command):
        self.spoor, self.pid, self.command = spoor, str(pid), command

    def __enter__(self):
        self.begin()
        while self.ask("status").status:
            if self.recorder.poll() is not None:
                stderr = self.recorder.stderr.read().decode()
                check("has begun another program meanwhile: try again" in stderr, f"{self.command}: {stderr}")
                self.begin()
        return self

    def begin(self):
        # pylint: disable=consider-using-with
        self.recorder = subprocess.Popen(self.command, stderr=subprocess.PIPE)

    def __exit__(self, kind, *_):
        if kind:
            self.recorder.kill()
        else:
            self.request("stop")
            _, stderr = self.recorder.communicate(timeout=TIMEOUT)
            check(self.recorder.returncode == 0, f"{self.command}: {self.recorder.returncode}: {stderr}")

    def ask(self, *words, user=None):
        return run([self.spoor.path, "ctl", self.pid, *words], user=user)

    def request(self, *words):
        done = self.ask(*words)
        check(done.status == 0, f"ctl {words}: {done}")
        return done.stdout.decode()

    def refuse(self, why, *words, user=None):
        done = self.ask(*words, user=user)
        check(done.status == 1 and done.stderr.count(b"\n") == 1 and why in done.stderr.decode(),
              f"ctl {words} is not refused, or with another message: {done}")

    def events(self):
        return int(self.request("status").split(" events")[0].split()[-1])

    def await_change(self, wanted):
        """Waits until events come (WANTED), or stop coming (not WANTED)."""
        until, last = time.monotonic() + TIMEOUT, self.events()
        while True:
            time.sleep(0.1)
            if (last != (last := self.events())) == wanted:
                break
            check(time.monotonic() < until, f"events come: {wanted} is expected")

    def pause_and_resume(self):
        self.await_change(True)
        self.request("pause")
        self.await_change(False)
        self.request("resume")
        self.await_change(True)


def attaching(spoor, pid, *options):
    return Recording(spoor, pid, [spoor.path, "attach", "-q", "-o", "trace", *options, str(pid)])


def test_users(spoor, busy):
    """Root may control each recording, other users their own."""
    if os.geteuid():
        return
    os.chmod(".", 0o777)
    for owner in None, NOBODY:
        become = ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups"] if owner else []
        with running([*become, busy, "compute"]) as process:
            before = code_of(process.pid)
            command = [*become, *attaching(spoor, process.pid).command]
            with Recording(spoor, process.pid, command) as recording:
                recording.refuse("recorded by another user: ask that user, or root", "pause", user=OTHER)
                recording.await_change(True)
                check(recording.ask("status", user=owner).status == 0, "its own user is refused")
            check_left(process.pid, before)
        os.remove("trace")


def test_two_at_once(spoor, busy):
    """The first spoor attaches; the second prints the first one's process ID and fails."""
    with running([busy, "compute"]) as process:
        before, command = code_of(process.pid), attaching(spoor, process.pid).command
        for number in range(3):
            both = [subprocess.Popen([*command, f"--output=trace.{i}"], stderr=subprocess.PIPE) for i in "ab"]
            while all(one.poll() is None for one in both):
                time.sleep(0.01)
            late = next(one for one in both if one.poll() is not None)
            first = both[both[0] is late]
            stderr = late.stderr.read().decode()
            check(late.returncode == 1 and stderr.count("\n") == 1 and f"process {process.pid}" in stderr and
                  ("another spoor" in stderr or "traces it" in stderr), f"{number}: {late.returncode}: {stderr}")
            while run([spoor.path, "ctl", str(process.pid), "stop"]).status:
                check(first.poll() is None, f"{number}: the first has ended, too: {first.returncode}")
            check(first.wait(TIMEOUT) == 0, f"{number}: {first.stderr.read()}")
            check_left(process.pid, before)


def child_of(pid):
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            for child in children.read().split():
                if run([recorder_path, "ctl", child, "status"]).status == 0:
                    return int(child)
        time.sleep(0.01)
    check(False, "no child is recorded")
    return 0


def test_launched(spoor):
    """After "ctl stop" the launched program runs on. record waits for it and exits with its status."""
    command = [spoor.path, "record", "-q", "-o", "trace", "--", "sh", "-c", "while read x; do echo $x; done; exit 7"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as recorder:
        pid = child_of(recorder.pid)
        for words in ("pause",), ("resume",), ("stop",):
            check(run([spoor.path, "ctl", str(pid), *words]).status == 0, f"{words}")
        check(not signs_of_spoor(pid), f"left: {signs_of_spoor(pid)}")
        check(run([spoor.path, "ctl", str(pid), "status"]).status == 1, "it still listens")
        out, _ = recorder.communicate(b"on\n", timeout=TIMEOUT)
    check(out == b"on\n" and recorder.returncode == 7, f"record: {recorder.returncode}, {out}")
    info = spoor.json("info", "--json", "trace")
    check(info["complete"] and len(info["changes"]) == 1, f"{info['changes']}")


def test_left_in_vfork(spoor, related_tasks):
    """A thread waits for its vfork child when spoor detaches. It goes on when the child has ended."""
    with running([spoor.path, "record", "-q", "-o", "trace", "--", related_tasks, "waits"]) as recorder:
        pid = child_of(recorder.pid)
        check(run([spoor.path, "ctl", str(pid), "stop"]).status == 0, "not stopped")
        check(not signs_of_spoor(pid), f"left: {signs_of_spoor(pid)}")


def test_execs(spoor, related_tasks):
    """A pause, and a recording, outlast each exec."""
    with running([related_tasks, "execs"]) as process:
        with attaching(spoor, process.pid, "-F", "fib") as recording:
            for choice in "breakpoint", "fib", "*":
                recording.pause_and_resume()
                recording.request("pause")
                recording.request("filter", "-F", choice)
                recording.await_change(False)
                recording.request("resume")
                recording.await_change(choice != "breakpoint")
                recording.request("filter")
        check(not signs_of_spoor(process.pid), f"left: {signs_of_spoor(process.pid)}")
    pauses = [c for c in spoor.json("info", "--json", "trace")["changes"] if c["kind"] == "paused"]
    check(len(pauses) == 6 and all(p["duration_ns"] for p in pauses), f"pauses: {pauses}")


def test_traps(spoor, related_tasks):
    """Breakpoints are in the code only while their function is traced."""
    limit = "--trap-limit=1000000"
    with running([related_tasks, "traps"]) as process:
        before = code_of(process.pid)
        with attaching(spoor, process.pid, "-F", "breakpoint", limit) as recording:
            recording.pause_and_resume()
            recording.request("filter", "-F", "fib")
            recording.await_change(True)
            recording.request("filter", "-F", "breakpoint")
            recording.pause_and_resume()
        check_left(process.pid, before)
    tiers = spoor.json("info", "--json", "trace")["functions"]["tiers"]
    check(tiers["trap"] == 1, f"tiers: {tiers}")
    calls = {row["function"]: row["calls"] for row in spoor.report()}
    check(set(calls) == {"breakpoint", "fib"}, f"calls: {calls}")


def test_libcalls(spoor, busy):
    with running([busy, "compute"]) as process:
        before = code_of(process.pid)
        with attaching(spoor, process.pid, "--libcalls", "-F", "qsort") as recording:
            recording.refuse("--libcalls", "filter", "-F", "snprintf")
            recording.pause_and_resume()
        check_left(process.pid, before)
    calls = {row["function"]: row["calls"] for row in spoor.report()}
    check(list(calls) == ["qsort"], f"calls: {calls}")


def test(spoor, busy, related_tasks):
    test_users(spoor, busy)
    test_two_at_once(spoor, busy)
    test_launched(spoor)
    test_left_in_vfork(spoor, related_tasks)
    test_execs(spoor, related_tasks)
    if platform.machine() == "x86_64":
        test_traps(spoor, related_tasks)
    test_libcalls(spoor, busy)


if __name__ == "__main__":
    subject = Spoor(sys.argv[1])
    recorder_path = subject.path
    programs = [os.path.realpath(word) for word in sys.argv[2:4]]
    main(lambda: test(subject, *programs))
