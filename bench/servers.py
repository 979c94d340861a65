#!/usr/bin/env python3
"""make bench-servers: whether a server is as fast as before when spoor has come and left many times, and
what it costs while spoor is there.

    servers.py SPOOR [NAME...]

Two servers of a kind run side by side under the same load all the time; spoor comes to one of them, its
twin is what the machine makes of the other. Both are measured in turn, before the first visit and after
the last: requests a second, of which the machine's other work takes its share, and processor time for each
request, of which it does not. What the visited one does is taken in parts of its twin; the table shows
what that is after the visits in parts of what it was before: 1.00 is the same. It shows the same for the
time of the visits and while spoor stays, and for how long the server stood when spoor came and left. In
brackets stands between which figures the first two lie with a probability of 95 %: a machine that does other
work as well, or spins where it waits, makes that wide, and only more ROUNDS make it narrow. VISITS=0 shows
what the two twins differ by when nobody comes.

VISITS=20 ROUNDS=25 SECONDS=1 are how many there are, and how long each measurement is.
"""
import contextlib
import importlib
import math
import os
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "test", "real"))
# pylint: disable=wrong-import-position
from serving import Failure, Pressure, end_on_sigterm, serving  # noqa: E402
from visiting import Attached, Visits  # noqa: E402
from attach import Spoor  # noqa: E402

VISITS, ROUNDS, SECONDS = (int(os.environ.get(name, default))
                           for name, default in (("VISITS", 20), ("ROUNDS", 25), ("SECONDS", 1)))
KINDS = {
    "redis": ("redis-server", "server_redis", "STEADY"),
    "nginx": ("nginx", "server_nginx", "KIND"),
    "postgres": ("PostgreSQL", "server_postgres", "POSTMASTER"),
    "python": ("python3", "server_python", "KIND"),
    "node": ("node", "server_node", "KIND"),
    "go": ("Go", "server_go", "STEADY"),
    "java": ("Java", "server_java", "KIND"),
}
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def stat_of(pid):
    """Parent, and processor time in seconds, of its children that have been waited for too."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[1]), sum(map(int, fields[11:15])) * TICK_S


def processor_time(pid):
    """Of PID and all that descend from it, in seconds."""
    table = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            table[int(name)] = stat_of(name)
    total, family = 0, {pid}
    while family:
        total += sum(table[member][1] for member in family if member in table)
        family = {child for child, (parent, _) in table.items() if parent in family}
    return total


class Sample:
    """What a server has done in some periods: requests a second, and processor time for each."""

    def __init__(self):
        self.rates, self.prices = [], []

    def take(self, server):
        begin = processor_time(server.process.pid)
        period = server.kind.loads[0](server.port, SECONDS)
        if period.failed:
            raise Failure(f"{server.name}: requests failed: {period.failed}")
        seconds = processor_time(server.process.pid) - begin
        self.rates.append(period.done / period.seconds)
        self.prices.append(seconds / max(period.done, 1))


def between(probability, count):
    """How many of COUNT sorted values lie below the range that holds the median of what they were taken
    from with PROBABILITY, whatever that is distributed like: each is below that median by a chance of 1/2."""
    below, total = 0, 0.0
    while below < count // 2:
        total += math.comb(count, below) / 2 ** count
        if 2 * total > 1 - probability:
            break
        below += 1
    return max(below - 1, 0)


class Ratio:
    """A median of ratios, and how far from it, as a factor, the true one may lie."""

    def __init__(self, value, low, high):
        self.value, self.low, self.high = value, low, high

    @classmethod
    def of_pairs(cls, mine, others):
        """Pairs in which the other had no time to do anything say nothing."""
        ratios = sorted(a / b for a, b in zip(mine, others) if a and b)
        if not ratios:
            raise Failure("nothing was done in any of the measurements: more SECONDS")
        value, below = statistics.median(ratios), between(0.95, len(ratios))
        return cls(value, value / ratios[below], ratios[-1 - below] / value)

    def __truediv__(self, other):
        """Both err on their own."""
        return Ratio(self.value / other.value,
                     math.exp(math.hypot(math.log(self.low), math.log(other.high))),
                     math.exp(math.hypot(math.log(self.high), math.log(other.low))))

    def __str__(self):
        return f"{self.value:.2f} ({self.value / self.low:.2f}–{self.value * self.high:.2f})"


def compared(visited, twin, there=contextlib.nullcontext):
    """(requests a second, processor time each) of the visited in parts of its twin. THERE makes what is
    entered while the visited is measured."""
    mine, other = Sample(), Sample()
    for number in range(ROUNDS):
        order = [(mine, visited, there), (other, twin, contextlib.nullcontext)]
        for sample, server, context in order if number % 2 else reversed(order):
            with context():
                sample.take(server)
    return Ratio.of_pairs(mine.rates, other.rates), Ratio.of_pairs(mine.prices, other.prices)


def pay_visits(visits, visited, twin):
    with Pressure(visited) as pressure, Pressure(twin) as other:
        for _ in range(VISITS):
            visits.pay(visited)
    pressure.check_well()
    other.check_well()
    return pressure.rate() / other.rate()


def measure(kind, visits):
    """All in parts of what it was before: (requests a second, processor time each) after the visits,
    requests a second during them, while traced as usual, and with all modules."""
    with serving(kind, "visited") as visited, serving(kind, "twin") as twin:
        pid, _ = [kind.pids(server.process.pid)[0] for server in (visited, twin)]
        with Pressure(visited), Pressure(twin):
            pass  # what makes code while it runs has made the most of it
        rate, price = compared(visited, twin)
        during = pay_visits(visits, visited, twin)
        after = compared(visited, twin)
        traced = [compared(visited, twin, lambda way=way: Attached(visits.spoor, pid, way))[0]
                  for way in (kind.ways[0], ["-M", "*"])]
    return [str(after[0] / rate), str(after[1] / price), *(f"{other / rate.value:.2f}" for other in
                                                           [during] + [way.value for way in traced])]


def row(name, figures, stood):
    cells = figures + [f"{statistics.median(times):.1f} ({max(times):.0f})" for times in zip(*stood)]
    return f"| {name} | {' | '.join(cells)} |"


def main():
    spoor, names = Spoor(sys.argv[1]), sys.argv[2:] or list(KINDS)
    if not set(names) <= KINDS.keys():
        sys.exit(f"servers.py: {' '.join(names)}: the servers are {' '.join(KINDS)}")
    end_on_sigterm()
    print(f"{VISITS} visits; medians of {ROUNDS} pairs of {SECONDS} s\n\n"
          "| server | requests a second after visits | processor time of each | requests during visits | "
          "while traced | `-M '*'` | stood at attach, ms | at leave |\n|---" + "|--:" * 7 + "|",
          flush=True)
    for name in names:
        title, module, member = KINDS[name]
        visits = Visits(spoor, 1)
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)  # servers may run as another user
            os.chdir(directory)
            try:
                figures = measure(getattr(importlib.import_module(module), member), visits)
                print(row(title, figures, visits.stood), flush=True)
            except (Failure, SystemExit) as failure:  # also where the server is not installed
                print(f"| {title} | {failure} |", flush=True)
            finally:
                os.chdir(HERE)


main()
