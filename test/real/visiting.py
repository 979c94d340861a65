"""Shared by the tests of servers: spoor attaches to a server under load and detaches, over and over. No request fails,
the server logs no error, and its code is the same after each visit. At the end it is as fast as its twin, another
server to which spoor never attached.

A script of this folder describes its server as KIND and calls serve(KIND). Its options are

    [--cycles=N] [--seed=N] SPOOR

Prints the measurements as one line; `make bench-servers` measures more.
"""
import hashlib
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

from serving import PATIENCE, Failure, Pressure, check, exit_on_sigterm, serving
from attach import Spoor, main, run, signs_of_spoor

LEAST_RATE = 0.5    # of the twin's rate; the machine may be noisy
PERIODS, MOST_PERIODS = 5, 25
STOP_TIMES = re.compile(r"stopped for ([0-9.]+) +(\w+) at attach(?:, for ([0-9.]+) +(\w+))?")
UNITS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3}


def code_of_files(pid):
    """{line of maps: digest} for the executable maps of process PID; "" instead of a digest for maps without a
    file."""
    found = {}
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            fields = line.split(maxsplit=5)
            if "x" not in fields[1] or line.endswith("[vsyscall]\n"):
                continue
            if len(fields) < 6 or not fields[5].startswith("/"):
                found[line] = ""
                continue
            start, end = (int(word, 16) for word in fields[0].split("-"))
            memory.seek(start)
            found[line] = hashlib.sha256(memory.read(end - start)).hexdigest()
    return found


def check_as_before(kind, pid, before):
    left = signs_of_spoor(pid)
    check(not left, f"left in process {pid}: {left}")
    after = code_of_files(pid)
    changed = [line for line in before if before[line] and after.get(line) != before[line]]
    check(not changed, f"process {pid}: code has changed: {changed}")
    if not kind.generates:
        check(before.keys() == after.keys(),
              f"process {pid}: other code is mapped: {sorted(before.keys() ^ after.keys())}")


class Attached:
    """spoor attached to process PID inside the with block; afterwards output has its messages. It has a session of its
    own: the scheduler may group by session (CONFIG_SCHED_AUTOGROUP), and the load is in another one."""

    def __init__(self, spoor, pid, way):
        self.command = [spoor.path, "attach", "-o", "trace", *way, str(pid)]
        self.status = [spoor.path, "ctl", str(pid), "status"]
        self.pid, self.process, self.output = pid, None, ""

    def __enter__(self):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)
        try:
            self.await_here()
        except BaseException:
            self.leave()
            raise
        return self

    def await_here(self):
        """Waits until all patches are written. Mapped memory does not show that: the process still runs untraced
        while spoor fills it."""
        until = time.monotonic() + PATIENCE
        while not signs_of_spoor(self.pid) or run(self.status).status:
            if self.process.poll() is not None:
                self.leave()
                raise Failure(f"attach ended: {self.output}")
            check(time.monotonic() < until, f"attach is not done after {PATIENCE} s")
            time.sleep(0.002)

    def leave(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            output, _ = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired as late:
            self.process.kill()
            raise Failure(f"attach does not end within {PATIENCE} s") from late
        self.output += output.decode()

    def __exit__(self, wrong, *unused):
        self.leave()
        check(wrong or self.process.returncode == 0, f"attach failed: {self.output}")

    def stop_times(self):
        """(ms at attach, ms at detach) for which the process stood still."""
        match = STOP_TIMES.search(self.output)
        check(match and match[3], f"attach does not say how long the process stood: {self.output}")
        return float(match[1]) * UNITS[match[2]], float(match[3]) * UNITS[match[4]]


def do_work(kind, port, pid):
    """Returns when process PID has worked for a request from now on."""
    if kind.works:
        kind.works(port, pid)
    else:
        check(kind.answers(port), "a request was not answered")


class Visits:
    """Visits of a server: attach, wait, detach, check."""

    def __init__(self, spoor, seed):
        self.spoor, self.seed, self.dice = spoor, seed, random.Random(seed)
        self.count, self.stop_times, self.events = 0, [], 0

    def visit_one(self, server):
        """One visit to a random process of SERVER. The process does some work meanwhile, however busy the machine."""
        kind = server.kind
        pid = self.dice.choice(kind.pids(server.process.pid))
        way = kind.ways[self.count % len(kind.ways)]
        seconds = self.dice.randint(50, 500) / 1000
        before = code_of_files(pid)
        attached = Attached(self.spoor, pid, way)
        try:
            with attached:
                begin = time.monotonic()
                do_work(kind, server.port, pid)
                time.sleep(max(0, begin + seconds - time.monotonic()))
            server.check_well()
            check_as_before(kind, pid, before)
            self.stop_times.append(attached.stop_times())
            events = self.spoor.json("info", "--json", "trace")["events"]
            check(events["entry"] + events["lost"] > 0, "no event")
        except Failure as failure:
            raise Failure(f"visit {self.count}, --seed={self.seed}: attach {' '.join(way)} for {seconds} "
                          f"s: {failure}\nattach printed: {attached.output}") from failure
        self.events += events["entry"] + events["exit"]
        self.count += 1

    def figures(self):
        attach, leave = zip(*self.stop_times)
        return (f"{self.count} visits, {self.events / 1e6:.1f} M events; stood still at attach "
                f"{statistics.median(attach):.1f} ms (at most {max(attach):.1f}), at leave "
                f"{statistics.median(leave):.1f} ms (at most {max(leave):.1f})")


def is_as_fast(visited, twin):
    return statistics.median(visited) >= LEAST_RATE * statistics.median(twin)


def compared_rates(visited, twin, seconds):
    """The medians of both servers' requests a second, measured in turn. Measures longer if the visited server seems
    slower: the machine may have been busy."""
    rates = {visited: [], twin: []}
    for number in range(MOST_PERIODS):
        if number >= PERIODS and is_as_fast(rates[visited], rates[twin]):
            break
        for server, found in rates.items():
            period = server.kind.loads[0](server.port, seconds)
            check(not period.failed, f"{server.name}: requests failed: {period.failed}")
            found.append(period.done / period.seconds)
    return statistics.median(rates[visited]), statistics.median(rates[twin])


def option(name, default):
    return next((int(w.split("=")[1]) for w in sys.argv[1:] if w.startswith(f"--{name}=")), default)


def serve(kind, seconds=1):
    """The test. Each measurement of a rate takes SECONDS."""
    cycles, seed = option("cycles", 100), option("seed", random.SystemRandom().randrange(10**6))
    visits = Visits(Spoor(sys.argv[-1]), seed)
    exit_on_sigterm()

    def test():
        os.chmod(".", 0o755)  # servers may run as another user
        with serving(kind, "visited") as visited:
            with Pressure(visited) as pressure:
                for _ in range(cycles):
                    visits.visit_one(visited)
                    pressure.check_well()
            pressure.check_well()
            with serving(kind, "twin") as twin:
                after, untouched = compared_rates(visited, twin, seconds)
        print(f"{visits.figures()}; requests a second: {pressure.rate():.0f} during visits, "
              f"{after:.0f} after them, {untouched:.0f} of a twin without: {after / untouched:.2f}")
        check(after >= LEAST_RATE * untouched, "the visited server has become slower")

    main(test)
