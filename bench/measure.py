"""What the groups of figures share: running commands in turn, and tables of medians."""
import contextlib
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import threading
import time

LOOK_SECONDS = 0.01


class Failed(Exception):
    """A command of a benchmark failed; the text says how."""


class Bench:
    """How to measure. folder: for files; HOME of caches, too, so that only warm() commands find one."""

    def __init__(self, spoor, folder, rounds, long):
        self.spoor, self.folder, self.rounds, self.long = spoor, folder, rounds, long
        self.cores = sorted(os.sched_getaffinity(0))
        os.environ["XDG_CACHE_HOME"] = self.path("cache")

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, *options, trace="t.trace"):
        """The beginning of a command that records; the program and its arguments follow."""
        return [self.spoor, "record", "-q", "-o", self.path(trace), *options, "--"]

    def on_cores(self, count, command):
        return ["taskset", "-c", ",".join(map(str, self.cores[:count])), *command]

    def info(self, trace="t.trace"):
        return json.loads(run([self.spoor, "info", "--json", self.path(trace)]))

    def in_turn(self, variants, measure):
        """Runs all variants in each round, so that the machine's moods affect them alike. VARIANTS: {name: command};
        returns {name: [what measure(command) returns]}."""
        samples = {name: [] for name in variants}
        for _ in range(self.rounds):
            for name, command in variants.items():
                samples[name].append(measure(command))
        return samples

    def shown(self, command):
        """COMMAND as a reader may type it, without directories of this run."""
        words = [os.path.basename(word) if word.startswith(self.folder) or word == self.spoor else word
                 for word in command]
        return shlex.join(words).replace(self.folder + "/", "")


def run(command, stdout=subprocess.PIPE, **more):
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                          text=True, errors="replace", **more)
    if done.returncode:
        raise Failed(f"{shlex.join(command)[:200]}: status {done.returncode}: {done.stderr[-500:].strip()}")
    return done.stdout


def seconds(command, **more):
    """Time on the wall."""
    start = time.perf_counter()
    run(command, stdout=subprocess.DEVNULL, **more)
    return time.perf_counter() - start


def processor_seconds(command, **more):
    """Processor time of the command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command, stdout=subprocess.DEVNULL, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Observed:
    """A run of COMMAND that records to TRACE: seconds; peak_mb, the resident memory of spoor itself, its view of the
    rings included; disk_mb, the trace's largest size; late: seconds from the end of the program to that of spoor."""

    def __init__(self, command, trace):
        self.peak_kb = self.disk = 0
        self.ended = start = time.perf_counter()
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as process:
            watch = threading.Thread(target=self._watch, args=(process, trace))
            watch.start()
            errors = process.stderr.read()
            process.wait()
            end = time.perf_counter()
            watch.join()
        if process.returncode:
            raise Failed(f"{shlex.join(command)[:200]}: status {process.returncode}: {errors[-500:].decode()}")
        self.seconds, self.late = end - start, max(0.0, end - self.ended)
        self.disk = max(self.disk, os.path.getsize(trace) if os.path.exists(trace) else 0)
        self.peak_mb, self.disk_mb = self.peak_kb / 1024, self.disk / 1e6

    def _watch(self, process, trace):
        own = f"/proc/{process.pid}"
        while process.poll() is None:
            try:
                with open(own + "/status", encoding="utf-8") as status:
                    text = status.read()
                with open(f"{own}/task/{process.pid}/children", encoding="ascii") as children:
                    alive = children.read().strip()
            except OSError:
                break
            if "VmHWM:" in text:
                self.peak_kb = max(self.peak_kb, int(text.split("VmHWM:")[1].split()[0]))
            if alive:
                self.ended = time.perf_counter()
            for path in (trace, trace + ".part"):
                with contextlib.suppress(FileNotFoundError):  # the file is renamed meanwhile
                    self.disk = max(self.disk, os.path.getsize(path))
            time.sleep(LOOK_SECONDS)


def cell(samples, best=min):
    """A figure: the median, and the worst, which is the opposite of BEST."""
    worst = max if best is min else min
    return {"median": statistics.median(samples), "worst": worst(samples), "samples": samples}


def planning_seconds(info):
    """How long the program waited for plans and patches, also of libraries, by its trace's info. A trace of the
    newest events may have lost that."""
    return (info["pauses"]["by"]["start"] + info["pauses"]["by"]["dlopen"]) / 1e9


def median(samples):
    return statistics.median(samples)


class Table:
    """Figures with a row for each thing that is measured. TEXT: what they mean. PLOT: columns that the drawing shows.
    A cell is cell(), a number, a text, or None."""

    def __init__(self, title, columns, text, plot=()):
        self.title, self.columns, self.text, self.plot = title, columns, text, list(plot)
        self.rows = []

    def row(self, name, cells, command=""):
        assert len(cells) == len(self.columns), (name, cells)
        self.rows.append({"name": name, "cells": list(cells), "command": command})

    def json(self):
        return {"title": self.title, "text": self.text, "columns": self.columns, "plot": self.plot,
                "rows": self.rows}


def present(programs):
    """Of {name: command}, those whose program is installed."""
    return {name: command for name, command in programs.items() if shutil.which(command[0])}
