#!/usr/bin/env python3
"""make bench-servers: whether a server is as fast as before, after many visits of spoor, and the costs during a visit.

    servers.py SPOOR [NAME...]

Two servers of a kind, the twins, run side by side under the same load. spoor visits (attaches to and detaches from) one
of them. Both are measured in turn, before the first visit and after the last: requests a second, which other work of
the machine reduces, and processor time for each request, which it does not.

Figures are ratios: visited server to twin, and then after to before. 1.00 means that nothing has changed. The table
also shows the ratios during the visits and while spoor traces, and how long the server stood still at attach and
detach. The brackets after the first two figures are 95 % confidence intervals. Other work of the machine, and threads
that spin while they wait, make them wide; only more ROUNDS make them narrow. VISITS=0 shows how much the twins differ
without visits.

In the environment: VISITS=20 and ROUNDS=25 are numbers, SECONDS=1 is the length of a measurement.
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
from serving import Failure, Pressure, exit_on_sigterm, serving  # noqa: E402
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
    """(parent, seconds of processor time, with those of children that were waited for) of process PID."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[1]), sum(map(int, fields[11:15])) * TICK_S


def processor_time(pid):
    """Seconds of processor time of PID and all its descendants."""
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
    """Measurements of a server: requests a second, and processor time for each request."""

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
    """How many of COUNT sorted samples are below the confidence interval of the median, for any distribution: each
    sample is below the true median with a probability of 1/2."""
    below, total = 0, 0.0
    while below < count // 2:
        total += math.comb(count, below) / 2 ** count
        if 2 * total > 1 - probability:
            break
        below += 1
    return max(below - 1, 0)


class Ratio:
    """A median of ratios, and the factors by which the true median may be lower or higher."""

    def __init__(self, value, low, high):
        self.value, self.low, self.high = value, low, high

    @classmethod
    def of_pairs(cls, visited, twin):
        """The ratio of paired measurements. Leaves out pairs with a server that has done nothing."""
        ratios = sorted(a / b for a, b in zip(visited, twin) if a and b)
        if not ratios:
            raise Failure("no measurement has a request: use more SECONDS")
        value, below = statistics.median(ratios), between(0.95, len(ratios))
        return cls(value, value / ratios[below], ratios[-1 - below] / value)

    def __truediv__(self, other):
        """The errors of both are independent."""
        return Ratio(self.value / other.value,
                     math.exp(math.hypot(math.log(self.low), math.log(other.high))),
                     math.exp(math.hypot(math.log(self.high), math.log(other.low))))

    def __str__(self):
        return f"{self.value:.2f} ({self.value / self.low:.2f}–{self.value * self.high:.2f})"


def compared(visited, twin, there=contextlib.nullcontext):
    """Ratios of the visited server to its twin: (requests a second, processor time of each). THERE() is a context
    for the measurements of the visited server."""
    visited_sample, twin_sample = Sample(), Sample()
    for number in range(ROUNDS):
        order = [(visited_sample, visited, there), (twin_sample, twin, contextlib.nullcontext)]
        for sample, server, context in order if number % 2 else reversed(order):
            with context():
                sample.take(server)
    return (Ratio.of_pairs(visited_sample.rates, twin_sample.rates),
            Ratio.of_pairs(visited_sample.prices, twin_sample.prices))


def visit_repeatedly(visits, visited, twin):
    with Pressure(visited) as pressure, Pressure(twin) as other:
        for _ in range(VISITS):
            visits.visit_one(visited)
    pressure.check_well()
    other.check_well()
    return pressure.rate() / other.rate()


def measure(kind, visits):
    """Returns figures as ratios to those before the visits: requests a second and processor time of each after the
    visits; requests a second during the visits, while traced with usual options, and with all modules."""
    with serving(kind, "visited") as visited, serving(kind, "twin") as twin:
        pid, _ = [kind.pids(server.process.pid)[0] for server in (visited, twin)]
        with Pressure(visited), Pressure(twin):
            pass  # until just-in-time compilers have made most of their code
        rate, price = compared(visited, twin)
        during = visit_repeatedly(visits, visited, twin)
        after = compared(visited, twin)
        traced = [compared(visited, twin, lambda way=way: Attached(visits.spoor, pid, way))[0]
                  for way in (kind.ways[0], ["-M", "*"])]
    return [str(after[0] / rate), str(after[1] / price), *(f"{other / rate.value:.2f}" for other in
                                                           [during] + [way.value for way in traced])]


def row(name, figures, stop_times):
    cells = figures + [f"{statistics.median(times):.1f} ({max(times):.0f})" for times in zip(*stop_times)]
    return f"| {name} | {' | '.join(cells)} |"


def main():
    spoor, names = Spoor(sys.argv[1]), sys.argv[2:] or list(KINDS)
    if not set(names) <= KINDS.keys():
        sys.exit(f"servers.py: {' '.join(names)}: the servers are {' '.join(KINDS)}")
    exit_on_sigterm()
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
                print(row(title, figures, visits.stop_times), flush=True)
            except (Failure, SystemExit) as failure:  # also if the server is not installed
                print(f"| {title} | {failure} |", flush=True)
            finally:
                os.chdir(HERE)


main()
