#!/usr/bin/env python3
"""spoor attaches to programs in containers and detaches, over and over, and is also killed. It runs outside the
container, as root or as the container's owner, or inside. The program's files exist in the container only; outside
there is another file of the same name.

    containers.py [--visits=N] [--kinds=A,B] SPOOR CONTAIN BUSY RELATED_TASKS
"""
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from attach import SKIP, TIMEOUT, Spoor, check, check_left, code_of, main, run, running, signs_of_spoor, threads_of
from harness import SEED

DICE = random.Random(SEED or 1)
NOBODY, ROOT = 65534, os.geteuid() == 0
LOADER = {"aarch64": "/lib/ld-linux-aarch64.so.1", "armv7l": "/lib/ld-linux-armhf.so.3",
          "x86_64": "/lib64/ld-linux-x86-64.so.2"}[os.uname().machine]
# Options of a visit. Most visits take the first: no event is lost, so callers can be checked.
WAYS = (["-M", "busy", "--overflow=wait"], ["-M", "*"], ["-M", "*", "--overflow=wait"])
DURATIONS = ("30ms", "1s", "20s")  # a busy machine may let a program do nothing for a while
AT_WORK_S = 0.02
# {argument of BUSY: (functions that must be seen, whether its threads stay the same)}
KINDS = {"compute": ({"computing", "compute", "fib"}, True), "births": ({"one_computation", "compute"}, False),
         "forks": ({"compute", "fib"}, False), "signals": ({"compute", "on_alarm"}, True)}
# {function: its possible callers}, by names up to the first dot.
CALLERS = {"fib": {"fib", "compute", "on_alarm"}, "mean": {"compute"},
           "compute": {"computing", "computing_at_length", "one_computation", "forking"}}


def libraries_of(program):
    listed = subprocess.run([LOADER, "--list", program], stdout=subprocess.PIPE, check=True).stdout.decode()
    return re.findall(r"(/\S+) \(0x", listed)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [int(word) for word in children.read().split()]


def status_of(pid, field):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(line.split()[1:] for line in status if line.startswith(field + ":"))


def becoming(user):
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []


class Container:
    """The program, at work in a container that USER has made. It is the first process there."""

    def __init__(self, test, user, kind, loaded):
        self.user, self.kind = user, kind
        program = os.path.realpath("busy")
        given = [f"{name}={name}" for name in libraries_of(test.busy)] + [f"{program}={test.busy}"]
        self.command = [*becoming(user), test.container_program, os.path.realpath("root"), *given, "--",
                        *([LOADER] if loaded else []), program, kind]
        self.pid, self.before = None, None

    @contextlib.contextmanager
    def running(self):
        with running(self.command) as process:
            self.pid = children_of(process.pid)[0]
            check(status_of(self.pid, "NSpid")[-1] == "1", "it is not the first process")
            self.before = code_of(self.pid)
            yield

    def tids(self, inside):
        """IDs of its threads in the container's pid namespace (INSIDE) or in this one."""
        return {int(status_of(f"{self.pid}/task/{tid}", "NSpid")[-1 if inside else 0])
                for tid in threads_of(self.pid)}

    def check_left(self):
        check_left(self.pid, self.before)
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            to = os.readlink(f"/proc/{self.pid}/fd/{fd}")
            check("memfd" not in to, f"left: descriptor {fd}: {to}")


class Visitor:
    """A spoor that USER runs: outside CONTAINER, or INSIDE its pid and user namespaces (with other files)."""

    def __init__(self, spoor, container, user, inside):
        self.spoor, self.container, self.inside = spoor, container, inside
        self.before, self.trace = becoming(user), f"trace-{user}-{inside}"
        if inside:
            self.before += ["nsenter", "-t", str(container.pid), "-U", "-p", "--preserve-credentials",
                            "unshare", "-m", "--mount-proc"]
        self.name = f"{'inside' if inside else 'outside'}, user {user or 'as we'}, {' '.join(container.command[-3:])}"

    def may_come(self):
        return run([*self.before, "true"]).status == 0

    def command(self, *words):
        return [*self.before, self.spoor.path, *words, "1" if self.inside else str(self.container.pid)]

    def attach(self, way, duration):
        done = run(self.command("attach", "-o", self.trace, f"--duration={duration}", *way))
        check(done.status == 0, f"attach ended with {done.status}: {done.stderr.decode()}")
        self.container.check_left()

    def visit(self, way):
        """Attaches until events are recorded; checks the recorded calls."""
        wanted, _ = KINDS[self.container.kind]
        for duration in DURATIONS:
            self.attach(way, duration)
            missing = wanted - {row["function"] for row in self.spoor.report(self.trace) if row["module"] == "busy"}
            if not missing:
                break
        check(not missing, f"{missing} were not seen")
        info = self.spoor.json("info", "--json", self.trace)
        lost = info["events"]["lost"]
        check(not lost or "--overflow=wait" not in way, f"lost: {lost}")
        if not lost:  # lost events, as on slow machines, may be callers
            self.check_tree(self.spoor.graph(self.trace), "")
        self.check_ids(info)
        if "*" in way and self.container.kind == "compute":
            names = {row["function"] for row in self.spoor.report(self.trace) if row["module"].startswith("libc.so")}
            check({"qsort", "snprintf"} <= names, f"of libc: {names}")

    def check_tree(self, node, caller):
        name = node["name"].split(".")[0]
        known = caller.split(".")[0] in {name for names in CALLERS.values() for name in names}
        check(not known or name not in CALLERS or caller.split(".")[0] in CALLERS[name], f"{caller} calls {name}")
        for child in node["children"]:
            self.check_tree(child, node["name"])

    def check_ids(self, info):
        """The trace has process and thread IDs of this spoor's pid namespace."""
        first = 1 if self.inside else self.container.pid
        check(first in {process["pid"] for process in info["process_list"]}, f"{first}: {info['process_list']}")
        seen = {thread["tid"] for thread in info["thread_list"]}
        if KINDS[self.container.kind][1]:
            there = self.container.tids(self.inside)
            check(seen <= there, f"threads {seen}, there are {there}")
        check(first in seen, f"threads {seen}, not {first}")

    def begin_and_kill(self, way):
        """Kills spoor while it attaches, or once it records."""
        pid, early = self.container.pid, DICE.random() < 1 / 3
        with subprocess.Popen(self.command("attach", "-q", "-o", self.trace, *way)) as process:
            until = time.monotonic() + TIMEOUT
            while not (tracer := int(status_of(pid, "TracerPid")[0])) or \
                    not early and not any("memfd:spoor" in line for line in signs_of_spoor(pid)):
                check(process.poll() is None and time.monotonic() < until, f"does not begin: {process.returncode}")
            time.sleep(DICE.random() * AT_WORK_S)
            os.kill(tracer, signal.SIGKILL)
        while int(status_of(pid, "TracerPid")[0]):
            time.sleep(0.001)

    def remove(self):
        """Runs "spoor detach" until no signal handler still has to return into spoor's code."""
        until = time.monotonic() + TIMEOUT
        while (done := run(self.command("detach"))).status:
            check(b"signal handler" in done.stderr and time.monotonic() < until, f"detach: {done}")
        self.container.check_left()


def visitors_to(test, container):
    user = container.user
    some = [Visitor(test.spoor, container, None, False)] if ROOT else []
    if user or not ROOT:
        some.append(Visitor(test.spoor, container, user, False))
    some.append(Visitor(test.spoor, container, user, True))
    return [one for one in some if one.may_come()]


class Test:
    def __init__(self, spoor, container_program, busy):
        self.spoor, self.container_program, self.busy = spoor, container_program, busy

    def visit_container(self, container, visits):
        visitors = visitors_to(self, container)
        for number in range(visits):
            visitor, way = visitors[number % len(visitors)], WAYS[number % len(WAYS)]
            print(f"visit {number}: {visitor.name}: {way}", flush=True)
            visitor.visit(way)
        for number, visitor in enumerate(visitors):
            print(f"killed, {number}: {visitor.name}")
            visitor.begin_and_kill(WAYS[number % len(WAYS)])
            if number % 2 or container.kind == "signals":
                visitors[number - 1].remove()
            else:
                visitors[number - 1].visit(WAYS[0])

    def all(self, kinds, visits):
        """VISITS to programs of KINDS, in turn in containers of this user and of another user."""
        users = (None, NOBODY) if ROOT else (None,)
        containers = [(kind, user) for kind in kinds for user in users]
        for number, (kind, user) in enumerate(containers):
            container = Container(self, user, kind, loaded=user is not None)
            with container.running():
                self.visit_container(container, len(range(number, visits, len(containers))))


def test(spoor, container_program, busy, related_tasks):
    os.chmod(".", 0o777)
    os.mkdir("root", 0o755)
    os.mkdir("given", 0o755)
    for file in spoor.path, container_program, busy:
        shutil.copy(file, "given")
    shutil.copy(related_tasks, "busy")
    spoor.path, container_program, busy = (os.path.realpath("given/" + os.path.basename(f)) for f in (spoor.path, container_program, busy))
    Test(spoor, container_program, busy).all(option("kinds", ",".join(KINDS)).split(","), int(option("visits", "8")))


def option(name, default):
    return next((w.split("=")[1] for w in sys.argv[1:] if w.startswith(f"--{name}=")), default)


if __name__ == "__main__":
    words = [os.path.realpath(w) for w in sys.argv[1:] if not w.startswith("--")]
    if run(words[1:2]).status == SKIP:
        print("namespaces cannot be made here")
        sys.exit(SKIP)
    subject = Spoor(words[0])
    main(lambda: test(subject, *words[1:]))
