"""What the tests of servers share: a server under load all the time, to which spoor comes and which it
leaves, over and over. No request may fail, the server may log no error, its code must be what it was
after each time, and in the end it must be as fast as its twin, to which spoor never came.

A script of this folder describes its server and calls serve(); the options of such scripts are

    [--cycles=N] [--seed=N] SPOOR

What was measured is printed as one line; doc/PERFORMANCE.md quotes it.
"""
import collections
import contextlib
import hashlib
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

FOLDER = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "attach"))
from attach import SKIP, Failure, Spoor, check, main, traces_of_us  # noqa: E402

PATIENCE = 60
LEAST_RATE = 0.5    # of the twin's; the machine may be noisy
PERIODS, MOST_PERIODS = 5, 25
STOOD = re.compile(r"stood for ([0-9.]+) +(\w+) when it was attached to(?:, for ([0-9.]+) +(\w+))?")
UNITS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3}


def accepts(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


# done: requests; failed: what the generator says of those that failed, empty if none did
Period = collections.namedtuple("Period", "done seconds failed")
# What a script knows of its server. start(port): its command, prepared in the current directory.
# loads: functions of (port, seconds) that make a Period of requests; all of them press at the same time,
# the first measures. pids(process): whom to attach to, one of them each time. ways: options of attach.
# wrong: what its log must not say. generates: it makes code while it runs. answers(port): whether it serves.
Kind = collections.namedtuple("Kind", "start loads pids ways wrong generates answers environment",
                              defaults=(False, accepts, None))


def which(*names):
    """The path of a program; without it the test cannot run here."""
    for folder in "/usr/bin", "/usr/sbin", "/usr/local/bin":
        for name in names:
            if os.access(os.path.join(folder, name), os.X_OK):
                return os.path.join(folder, name)
    print(f"{names[0]} is not installed")
    sys.exit(SKIP)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
        return [int(word) for word in children.read().split()]


def generator(command, seconds):
    """Runs a load generator: (its output, how long it took, whether it failed)."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
        try:
            out, _ = process.communicate(timeout=seconds + PATIENCE)
        except subprocess.TimeoutExpired as late:
            process.kill()
            raise Failure(f"{command[0]}: not answered in {PATIENCE} s") from late
    return out.decode(), time.monotonic() - begin, process.returncode != 0


def load_http(port, seconds, path="/", connections=8, header="X-Test: yes"):
    """One period of requests by wrk."""
    text, _, failed = generator(
        [which("wrk"), "-t1", f"-c{connections}", f"-d{seconds:g}s", f"--timeout={PATIENCE}s",
         "-H", header, f"http://127.0.0.1:{port}{path}"], seconds)
    done = re.search(r"(\d+) requests in ([0-9.]+)(ms|s|m)", text)
    wrong = re.findall(r"Socket errors:.*|Non-2xx.*|unable.*", text)
    check(done or failed or wrong, f"wrk: not understood: {text}")
    scale = {"ms": 0.001, "s": 1, "m": 60}[done[3]] if done else 1
    return Period(int(done[1]) if done else 0, float(done[2]) * scale if done else seconds,
                  "; ".join(wrong) or (text if failed else ""))


class Server:
    """A server that runs, in a directory of its own."""

    def __init__(self, kind, name):
        self.kind, self.name, self.port = kind, name, free_port()
        self.log = os.path.realpath(name + ".log")
        folder = os.getcwd()
        os.mkdir(name, 0o755)
        os.chdir(name)
        try:
            command = kind.start(self.port)
        finally:
            os.chdir(folder)
        with open(self.log, "wb") as log:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(command, cwd=name, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=kind.environment,
                                            start_new_session=True)

    def await_ready(self):
        for _ in range(PATIENCE * 20):
            check(self.process.poll() is None, f"{self.name}: ended: {self.said()}")
            if self.kind.answers(self.port):
                return
            time.sleep(0.05)
        raise Failure(f"{self.name}: does not answer: {self.said()}")

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def check_well(self):
        check(self.process.poll() is None,
              f"{self.name}: ended with {self.process.returncode}: {self.said()[-2000:]}")
        wrong = [line for line in self.said().splitlines() if re.search(self.kind.wrong, line)]
        check(not wrong, f"{self.name}: logged {wrong[:3]}")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextlib.contextmanager
def serving(kind, name):
    server = Server(kind, name)
    try:
        server.await_ready()
        yield server
        server.check_well()
    finally:
        server.end()


class Pressure:
    """Generators, each period after period: there is load all the time, and connections come and go in
    it."""
    SECONDS = 2

    def __init__(self, server):
        self.server, self.over, self.periods, self.failure = server, False, [], None
        self.threads = [threading.Thread(target=self.press, args=[load]) for load in server.kind.loads]

    def press(self, load):
        try:
            while not self.over and not self.failure:
                self.periods.append(load(self.server.port, self.SECONDS))
        except Exception as failure:  # pylint: disable=broad-exception-caught
            self.failure = failure

    def __enter__(self):
        for thread in self.threads:
            thread.start()
            time.sleep(self.SECONDS / 2 / len(self.threads))
        return self

    def __exit__(self, *unused):
        self.over = True
        for thread in self.threads:
            thread.join()

    def check_well(self):
        if self.failure:
            raise Failure(f"load: {self.failure}")
        failed = [period.failed for period in self.periods if period.failed]
        check(not failed, f"load: requests failed: {failed[:3]}")

    def rate(self):
        took = sum(period.seconds for period in self.periods) / len(self.threads)
        return sum(period.done for period in self.periods) / max(took, 1e-9)


def code_of_files(pid):
    """What process PID maps executable, and a digest of what that holds; of what it makes itself the
    place alone."""
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
    left = traces_of_us(pid)
    check(not left, f"left in process {pid}: {left}")
    after = code_of_files(pid)
    changed = [line for line in before if before[line] and after.get(line) != before[line]]
    check(not changed, f"process {pid}: code has changed: {changed}")
    if not kind.generates:
        check(before.keys() == after.keys(),
              f"process {pid}: other code is mapped: {sorted(before.keys() ^ after.keys())}")


def milliseconds(text):
    match = STOOD.search(text)
    check(match and match[3], f"attach does not say how long the process stood: {text}")
    return float(match[1]) * UNITS[match[2]], float(match[3]) * UNITS[match[4]]


class Visits:
    """spoor coming and going."""

    def __init__(self, spoor, seed):
        self.spoor, self.seed, self.dice = spoor, seed, random.Random(seed)
        self.count, self.stood, self.events = 0, [], 0

    def pay(self, server):
        """One visit, of some process of SERVER."""
        kind = server.kind
        pid = self.dice.choice(kind.pids(server.process.pid))
        way = kind.ways[self.count % len(kind.ways)]
        duration = self.dice.randint(50, 500)
        before = code_of_files(pid)
        what = f"visit {self.count}, --seed={self.seed}: attach {' '.join(way)} for {duration} ms"
        text, _, failed = generator([self.spoor.path, "attach", "-o", "trace", *way,
                                     f"--duration={duration}ms", str(pid)], duration / 1000)
        try:
            check(not failed, f"attach failed: {text}")
            server.check_well()
            check_as_before(kind, pid, before)
            self.stood.append(milliseconds(text))
            events = self.spoor.json("info", "--json", "trace")["events"]
            check(events["entry"] + events["lost"] > 0, f"no event: {text}")
        except Failure as failure:
            raise Failure(f"{what}: {failure}\nattach said: {text}") from failure
        self.events += events["entry"] + events["exit"]
        self.count += 1

    def figures(self):
        attach, leave = zip(*self.stood)
        return (f"{self.count} visits, {self.events / 1e6:.1f} M events; stood still at attach "
                f"{statistics.median(attach):.1f} ms (at most {max(attach):.1f}), at leave "
                f"{statistics.median(leave):.1f} ms (at most {max(leave):.1f})")


def is_as_fast(visited, twin):
    return statistics.median(visited) >= LEAST_RATE * statistics.median(twin)


def compared_rates(visited, twin, seconds):
    """Requests a second of both, measured in turn: medians. Measures on when the machine may have been
    busy with something else."""
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
    """The test. A rate is measured for SECONDS at a time."""
    cycles, seed = option("cycles", 100), option("seed", random.SystemRandom().randrange(10**6))
    visits = Visits(Spoor(sys.argv[-1]), seed)

    def test():
        os.chmod(".", 0o755)  # servers may run as another user
        with serving(kind, "visited") as visited:
            with Pressure(visited) as pressure:
                for _ in range(cycles):
                    visits.pay(visited)
                    pressure.check_well()
            pressure.check_well()
            with serving(kind, "twin") as twin:
                after, untouched = compared_rates(visited, twin, seconds)
        print(f"{visits.figures()}; requests a second: {pressure.rate():.0f} during visits, "
              f"{after:.0f} after them, {untouched:.0f} of a twin without: {after / untouched:.2f}")
        check(after >= LEAST_RATE * untouched, "it has become slower")

    main(test)
