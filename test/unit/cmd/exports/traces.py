"""Traces for the tests of exports, and what spoor's other views say about them.

Each test reads every trace with the program that the format is for, and compares. It is called as
TEST.py WRITER SPOOR [real]; real: a program that is recorded, in place of the written traces.
"""
import collections
import contextlib
import csv
import glob
import importlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

Call = collections.namedtuple("Call", "function start duration paused how before")

csv.field_size_limit(1 << 30)
HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "..", "cases")
DEEP = 100000
LONG = ((1 << 27) - 1, 1 << 27, (1 << 27) + 1, 5000000000)  # around the limit of short times in CTF
HOSTILE = ["a\"b'c\\d", "semi;colon:and space", "<b>&amp;</b>", "(7) number", "new\\x0aline \\x1b[31m", "\\xff\\xfe\\xc3",
           "größe", "x" * 1000000, "fn=(1) y", "%s%n{}",
           f"{random.Random(1).getrandbits(800000):x}"]
FILTERS = (["-F", "f3", "-F", "f5"], ["-N", "f3"], ["-t", "100"], ["-D", "3"], ["--since=20us", "--until=90us"],
           ["--tid=102"], ["-C", "f3"])

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
NOINLINE int leaf(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
NOINLINE int fib(int n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
NOINLINE void *work(void *p) { *(int *)p = fib(12); return p; }
int main(void) {
    int a, b;
    pthread_t t;
    pthread_create(&t, 0, work, &a);
    work(&b);
    pthread_join(t, 0);
    printf("%d\\n", a == b);
    return 0;
}
"""
PROGRAM_LINES = {"leaf": 5, "fib": 6, "work": 7, "main": 8}


def golden(trace, form, text):
    """Compares TEXT, what a reader prints of TRACE, with a file in cases, if there is one. UPDATE=1 writes it."""
    path = os.path.join(CASES, os.path.basename(trace.path) + "." + form + ".txt")
    if not os.path.exists(path) or trace.options:
        return
    if os.environ.get("UPDATE"):
        with open(path, "wb") as file:
            file.write(text)
    with open(path, "rb") as file:
        wanted = file.read()
    assert text == wanted, f"{path} has:\n{wanted.decode()}but this is:\n{text.decode()}"


def need(*programs):
    """Skips the test where one of the programs is not installed."""
    for program in programs:
        if not shutil.which(program):
            print(program, "is not installed")
            sys.exit(77)


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)
    assert done.returncode == 0, (command, done.stderr.decode(errors="replace"))
    return done.stdout


@contextlib.contextmanager
def schema(name):
    """The Python module of NAME.proto, which stands beside this file."""
    need("protoc")
    with tempfile.TemporaryDirectory() as directory:
        run("protoc", "--python_out=" + directory, "--proto_path=" + HERE, os.path.join(HERE, name + ".proto"))
        sys.path.insert(0, directory)
        yield importlib.import_module(name + "_pb2")


def decode(name, path):
    """What protoc prints of the message at PATH. It knows all fields."""
    with open(path, "rb") as file:
        text = run("protoc", f"--decode={name}_test.Whole", "--proto_path=" + HERE, os.path.join(HERE, name + ".proto"),
                   stdin=file)
    assert not re.search(rb"^ *\d+(:| \{)", text, re.M)
    return text


class Trace:
    """A trace file, seen by spoor's JSON."""

    def __init__(self, spoor, path, options=()):
        self.spoor, self.path, self.options = spoor, path, list(options)

    def __str__(self):
        return " ".join([self.path, *self.options])

    def with_options(self, options):
        return Trace(self.spoor, self.path, options)

    def view(self, *arguments):
        return run(self.spoor, *arguments, *self.options, self.path)

    def export(self, form, to):
        self.view("export", "--format=" + form, "-o", to)
        return to

    def report(self):
        """{function: sums}, functions of the same name joined."""
        rows = collections.defaultdict(collections.Counter)
        for row in json.loads(self.view("report", "--json")):
            rows[row["function"]].update({k: row[k] for k in ("calls", "before", "self_ns")})
        return dict(rows)

    def lines(self):
        return [json.loads(line) for line in self.view("replay", "--json").splitlines()]

    def calls(self):
        """All calls, sorted."""
        text = self.view("export", "--format=csv").decode(errors="replace")
        found = [Call(r["function"], int(r["start_ns"]), int(r["duration_ns"]), int(r["paused_ns"]), r["how"],
                      r["before"] == "1") for r in csv.DictReader(io.StringIO(text))]
        return sorted(found)


def random_description(seed):
    """Threads with second stacks, exceptions, tail calls, losses, pauses and functions without names."""
    rng = random.Random(seed)
    yield "process 9 prog"
    for i in range(12):
        yield f"function f{i}"
    yield "module prog"
    for i in range(4):
        yield f"thread 9 {100 + i} t{i}"
    events = []
    for stream in range(4):
        ticks, stacks = rng.randrange(1000), {0x1f000: [], 0x80f000 + stream * 0x100000: []}
        for _ in range(1500):
            ticks += rng.choice((0, 1, 5, 40, 40, 2000)) if rng.random() > 0.002 else rng.choice(LONG)
            base = rng.choice(list(stacks)) if rng.random() < 0.1 else 0x1f000
            frames = stacks[base]
            if rng.random() < 0.003:
                events.append((ticks, f"{stream} lost {rng.randrange(9)}"))
            elif rng.random() < 0.01:
                events.append((ticks + 60, f"{stream} pause {rng.randrange(5)} {rng.randrange(60):x}"))
                ticks += 60
            elif not frames or (len(frames) < 30 and rng.random() < 0.5):
                frames.append((rng.randrange(1, 13), base - 64 * len(frames)))
                events.append((ticks, f"{stream} enter {frames[-1][0]} {frames[-1][1]:x}"))
            else:
                if rng.random() < 0.05:
                    del frames[rng.randrange(len(frames)) + 1:]
                function, sp = frames.pop()
                events.append((ticks, f"{stream} {'tail' if rng.random() < 0.1 else 'return'} {function} {sp:x}"))
        if stream < 2:
            events.append((ticks + 7, f"{stream} end"))
    for ticks, what in sorted(events, key=lambda event: event[0]):
        yield f"{ticks} {what}"


def deep_description():
    """A recursion of DEEP calls."""
    yield from ("process 9 prog", "function f", "function g", "module prog", "thread 9 9 prog")
    base = 0x10000 + 4 * DEEP  # outside of the native stack: that is too small
    base += 0x100000
    for i in range(DEEP):
        yield f"{10 * i} 0 enter {1 + (i % 3 == 0)} {base - 4 * i:x}"
    for i in reversed(range(DEEP)):
        yield f"{10 * (2 * DEEP - i)} 0 return {1 + (i % 3 == 0)} {base - 4 * i:x}"


def hostile_description():
    yield 'process 9 pr"o\\x0a\\xffg;'
    for name in HOSTILE:
        yield "function " + name
    yield 'module li"b\\x0a.so'
    yield 'thread 9 9 na"me\\x0a\\xff'
    for i in range(len(HOSTILE)):
        yield f"{100 * i} 0 enter {i + 1} 1f000"
        yield f"{100 * i + 10 + i} 0 return {i + 1} 1f000"


def write(writer, spoor, path, lines):
    run(writer, path, input="\n".join(lines).encode() + b"\n")
    if not os.path.exists(path):
        os.rename(path + ".part", path)
    return Trace(spoor, path)


def written(writer, spoor, directory):
    """The traces of the golden files, and larger ones."""
    for case in sorted(glob.glob(os.path.join(CASES, "*.events"))):
        with open(case, encoding="utf-8") as file:
            name = os.path.basename(case)[:-len(".events")]
            yield write(writer, spoor, os.path.join(directory, name), file.read().splitlines())
    several = write(writer, spoor, os.path.join(directory, "random"), random_description(1))
    yield several
    for options in FILTERS:
        yield several.with_options(options)
    yield write(writer, spoor, os.path.join(directory, "hostile"), hostile_description())
    yield write(writer, spoor, os.path.join(directory, "deep"), deep_description())


def recorded(spoor, directory):
    """A C program with line numbers."""
    source, program, path = (os.path.join(directory, name) for name in ("lines.c", "lines", "t"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    run("gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-pthread", "-o", program, source)
    run(spoor, "record", "-q", "-o", path, "--", program)
    return Trace(spoor, path)


def check_all(check, check_recorded):
    writer, spoor = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as directory:
        if sys.argv[3:] == ["real"]:
            check_recorded(recorded(spoor, directory), directory)
            return
        for trace in written(writer, spoor, directory):
            try:
                check(trace, directory)
            except AssertionError:
                print("in the trace", trace)
                raise
