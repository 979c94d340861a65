"""Pictures: how long a person waits for spoor view, and what it takes."""
import http.client
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from urllib.parse import urlencode

from groups import programs
from measure import Failed, Table, cell, run

EVENTS, EVENTS_LONG = 100_000_000, 1_000_000_000
SQL = programs.SQL
COLUMNS = 1280
QUERIES = 10
TEXT = ("Seconds until the page has what it draws first (threads and density), and all of the summary; the same when the "
        "page is opened again; then the median of questions about random ranges: boxes to draw, the table of functions, "
        "the flame graph's first picture, which is an estimate, and the exact one. Megabytes of spoor-view at its "
        "largest. Traces of 64 threads and 2 000 functions that bench/make-trace writes; LONG=1: a thousand million "
        "events.")
SEEK = ("A view of the last hundredth of a trace, when the file is not in memory (needs root), and how much of the file "
        "it reads (strace): its first 50 lines, and all of it.")
LINES = 50


class Page:
    """A running spoor view, as a browser uses it."""

    def __init__(self, spoor, trace):
        self.start = time.perf_counter()
        self.process = subprocess.Popen([spoor, "view", "--no-open", "--stay", trace], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#(\w+)\n", line)
        if not found:
            self.process.kill()
            raise Failed(f"spoor view {trace}: {line!r} {self.process.stderr.read()[:300]!r}")
        self.port, self.token = int(found[1]), found[2]

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.process.terminate()
        self.process.communicate()

    def passed(self):
        return time.perf_counter() - self.start

    def open(self, path, **query):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("GET", f"/api/{path}?{urlencode(query)}", headers={"X-Spoor-Token": self.token})
        answer = connection.getresponse()
        if answer.status != 200:
            raise Failed(f"GET /api/{path}: {answer.status} {answer.read()[:200]!r}")
        return connection, answer

    def get(self, path, **query):
        connection, answer = self.open(path, **query)
        data = answer.read()
        connection.close()
        return data

    def timed(self, path, **query):
        start = time.perf_counter()
        self.get(path, **query)
        return time.perf_counter() - start

    def wait_for_summary(self):
        connection, answer = self.open("progress")
        for line in answer:
            if json.loads(line).get("complete"):
                break
        connection.close()

    def peak_mb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s*(\d+)", status.read())[1]) / 1024


def first_paint(page):
    trace = json.loads(page.get("trace"))
    page.get("density", columns=COLUMNS)
    return trace["duration_ns"]


def opened(bench, trace):
    """Seconds until the first paint and the whole summary, and what PAGE answers then."""
    with Page(bench.spoor, trace) as page:
        duration = first_paint(page)
        first = page.passed()
        page.wait_for_summary()
        summary = page.passed()
        dice, answers = random.Random(1), {"spans": [], "functions": [], "first": [], "graph": []}
        for _ in range(QUERIES):
            since = dice.randrange(duration)
            span = {"since": since, "until": since + dice.randrange(duration - since) + 1}
            answers["spans"].append(page.timed("spans", columns=COLUMNS, **span))
            answers["functions"].append(page.timed("functions", **span))
            answers["first"].append(page.timed("graph", least="0.001", quick=1, **span))
            answers["graph"].append(page.timed("graph", least="0.001", **span))
        return {"paint": first, "summary": summary, "peak": page.peak_mb(), **answers}


def traces(bench):
    """{name: trace}"""
    maker = os.path.join(os.path.dirname(bench.spoor), "bench", "make-trace")
    events = EVENTS_LONG if bench.long else EVENTS
    found = {}
    if os.path.exists(maker):
        run([maker, bench.path("made.trace"), f"--events={events}"])
        found[f"made, {events // 1_000_000} M events"] = bench.path("made.trace")
    if shutil.which("sqlite3"):
        run([*bench.record("-M", "*", trace="sqlite3.trace"), "sqlite3", ":memory:", SQL])
        found["sqlite3"] = bench.path("sqlite3.trace")
    return found


def forget(trace):
    """Out of the page cache."""
    with open(trace, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def mb_read(command, wanted):
    """By the command, which is ended after WANTED lines (None: all) as by head."""
    if not shutil.which("strace"):
        return None
    with tempfile.NamedTemporaryFile("r", errors="replace") as calls:
        read_lines(["strace", "-f", "-o", calls.name, "-e", "trace=read,pread64,readv,preadv", *command], wanted)
        return sum(int(n) for n in re.findall(r"\) += (\d+)$", calls.read(), re.M)) / 1e6


def read_lines(command, wanted):
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        for _ in itertools.islice(process.stdout, wanted):
            pass
        process.stdout.close()


def seconds_cold(bench, trace, command, wanted):
    samples = []
    for _ in range(bench.rounds):
        forget(trace)
        start = time.perf_counter()
        read_lines(command, wanted)
        samples.append(time.perf_counter() - start)
    return cell(samples)


def seek(bench, found):
    table = Table("The last hundredth", ["first lines, s", "MB read", "all, s", "MB read, all", "MB in all"], SEEK)
    for name, trace in found.items():
        command = [bench.spoor, "replay", "--since=99%", trace]
        figures = [figure for wanted in (LINES, None)
                   for figure in (seconds_cold(bench, trace, command, wanted), mb_read(command, wanted))]
        table.row(name, [*figures, os.path.getsize(trace) / 1e6], f"{bench.shown(command)} | head -{LINES}")
    return table


def measure(bench):
    table = Table("Pictures", ["MB", "first paint", "summary", "first again", "summary again", "boxes", "functions",
                               "first flames", "flame graph", "memory, MB"], TEXT, plot=[1, 3])
    found = traces(bench)
    for name, trace in found.items():
        first = opened(bench, trace)
        again = [opened(bench, trace) for _ in range(bench.rounds)]
        def answers(kind):
            return cell([s for look in again for s in look[kind]])
        table.row(name, [os.path.getsize(trace) / 1e6, first["paint"], first["summary"],
                         cell([look["paint"] for look in again]), cell([look["summary"] for look in again]),
                         answers("spans"), answers("functions"), answers("first"), answers("graph"), first["peak"]],
                  bench.shown([bench.spoor, "view", trace]))
    return [table, seek(bench, found)]
