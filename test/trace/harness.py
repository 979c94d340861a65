"""Shared by the tests in test/trace, test/attach, test/fault, test/real and test/guest: running programs alone and
under spoor, and reading spoor's views.

SPOOR_TEST_SEED=NUMBER in the environment: ring size and overflow policy of a recording are random, unless the test
chooses them (tools/run-rounds). Then events may be lost. The views must count lost events, and the other events
must be right.

SPOOR_TEST_TIMEOUT=SECONDS: how long a program may take, for slow machines.
SPOOR_TEST_FEW_ROUNDS=1: what tests do again and again, they do less often (rounds()).
"""
import collections
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile

TIMEOUT = int(os.environ.get("SPOOR_TEST_TIMEOUT", "240"))
FEW_ROUNDS = "SPOOR_TEST_FEW_ROUNDS" in os.environ
SKIP = 77
SEED = os.environ.get("SPOOR_TEST_SEED", "")
BY_CHANCE = {"--buffer": ("4K", "8K", "16K", "64K", "256K", "1M", "8M"),
             "--overflow": ("wait", "drop", "overwrite")}
LOSING = {"--overflow=drop", "--overflow=overwrite"}


def rounds(many, least=1):
    """How often a test does something again, at other moments or steps: MANY times. In an emulated machine a quarter of
    that: there a test shows that the processor's code is right; this machine's rounds show the other moments."""
    return max(least, -(-many // 4)) if FEW_ROUNDS else many


class Failure(Exception):
    """The test has failed; the text says why."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def main(function):
    """Runs FUNCTION in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="spoor-test-") as directory:
        before = os.getcwd()
        os.chdir(directory)
        try:
            function()
        except Failure as failure:
            print(f"failed: {failure}", file=sys.stderr)
            if SEED:
                print(f"with SPOOR_TEST_SEED={SEED}", file=sys.stderr)
            sys.exit(1)
        finally:
            os.chdir(before)


Outcome = collections.namedtuple("Outcome", "stdout stderr status")


def run(command, **options):
    """Runs COMMAND. The status is 128 + N if signal N killed it, as in a shell."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False, **options)
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{' '.join(command)}: not done after {TIMEOUT} s") from late
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Outcome(done.stdout, done.stderr, status)


def lines_of(data):
    return data.decode(errors="backslashreplace").splitlines()


def difference(name, right, wrong):
    """A text with the first place where two lists of lines differ, and the lines around it."""
    at = next((i for i, (a, b) in enumerate(zip(right, wrong)) if a != b), min(len(right), len(wrong)))
    low = max(at - 5, 0)
    around = [f"      {line}" for line in right[low:at]]
    around += [f"  want {line}" for line in right[at:at + 8] or ["(the end)"]]
    around += [f"  got  {line}" for line in wrong[at:at + 8] or ["(the end)"]]
    return "\n".join([f"{name} differs at line {at + 1}:"] + around)


def check_same(name, right, wrong):
    if right != wrong:
        raise Failure(difference(name, right, wrong))


def check_same_outcome(alone, traced, what):
    """Traced and alone, the program prints the same and has the same status."""
    check_same(f"{what}: standard output", lines_of(alone.stdout), lines_of(traced.stdout))
    check_same(f"{what}: standard error", lines_of(alone.stderr), lines_of(traced.stderr))
    check(alone.stdout == traced.stdout and alone.stderr == traced.stderr, f"{what}: output differs")
    check(alone.status == traced.status,
          f"{what}: status {traced.status} instead of {alone.status}; stderr:\n"
          + traced.stderr.decode(errors="replace"))


LINES_AT_ONCE = 4096


def parsed(lines, first):
    """The object of each of LINES. ValueError names the line that has none; FIRST is the number of the first one."""
    try:  # in one go: a call for each line takes five times as long
        objects = json.loads(b"[" + b",".join(lines) + b"]")
        if len(objects) == len(lines):
            return objects
    except ValueError:
        pass
    objects = []
    for number, line in enumerate(lines, first):
        try:
            objects.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    return objects


class Spoor:
    """The program under test."""

    def __init__(self, path):
        self.path = os.path.realpath(path)
        self.dice = random.Random(SEED + " ".join(map(os.path.basename, sys.argv)))
        self.lossy = False  # whether the last recording may lose events, by chance

    def by_chance(self, options):
        """OPTIONS, and random ones with SPOOR_TEST_SEED."""
        given = {word.split("=")[0] for word in options}
        added = [f"{name}={self.dice.choice(values)}" for name, values in BY_CHANCE.items()
                 if name not in given]
        added = added if SEED else []
        words = [*options, *added]
        self.lossy = bool(added and LOSING.intersection(words))  # a policy that the test chooses, in a small ring
        return words

    def command(self, options, command, trace="trace"):
        return [self.path, "record", "-q", "-o", trace, *self.by_chance(options), "--", *command]

    def record(self, options, command, trace="trace", **how):
        return run(self.command(options, command, trace), **how)

    def view(self, *words):
        """Standard output of a command, which must succeed."""
        done = run([self.path, *words])
        check(done.status == 0, f"spoor {' '.join(words)}: status {done.status}: "
              + done.stderr.decode(errors="replace"))
        return done.stdout

    def json(self, *words):
        text = self.view(*words)
        try:
            return json.loads(text)
        except ValueError as error:
            raise Failure(f"spoor {' '.join(words)}: no JSON: {error}") from error

    def info(self, trace="trace"):
        """info --json, with an added key may_lose: whether events may be lost by chance."""
        info = self.json("info", "--json", trace)
        info["may_lose"] = self.lossy
        if info["may_lose"] and info["events"]["lost"]:
            self.check_loss_is_shown(info["events"]["lost"], trace)
        return info

    def check_loss_is_shown(self, count, trace):
        for view in "report", "graph", "info":
            text = self.view(view, trace).decode(errors="replace").replace(",", "")
            check(re.search(rf"\b{count}\b.*lost|lost {count}\b", text),
                  f"{view} does not say that {count} events were lost: {text[-300:]}")

    def is_whole(self, trace="trace"):
        """Whether the trace has all events. Fails if events are lost and not by chance."""
        lost = self.info(trace)["events"]["lost"]
        check(lost == 0 or self.lossy, f"{lost} events lost")
        return lost == 0

    def report(self, trace="trace"):
        return self.json("report", "--json", trace)

    def graph(self, trace="trace"):
        return self.json("graph", "--json", trace)

    def replay(self, trace="trace"):
        """The objects of replay --json, read as they come. Objects of lost events are left out if events
        may be lost by chance; then their sum must be the count of info."""
        lost = 0
        for item in self.lines_of_replay(trace):
            if item["kind"] == "lost" and self.lossy:
                lost += item["count"]
            else:
                yield item
        count = self.info(trace)["events"]["lost"] if self.lossy else lost
        check(lost == count, f"replay shows {lost} lost events, info {count}")

    def lines_of_replay(self, trace):
        return self.json_lines("replay", "--json", trace)

    def json_lines(self, *words):
        """The objects that a view prints, one in a line, read as they come; without pauses, which depend on the
        machine."""
        return (item for item in self.all_json_lines(*words) if item.get("kind") != "pause")

    def all_json_lines(self, *words):
        """The same with pauses."""
        with subprocess.Popen([self.path, *words], stdout=subprocess.PIPE) as process:
            first = 1
            while lines := list(itertools.islice(process.stdout, LINES_AT_ONCE)):
                try:
                    yield from parsed(lines, first)
                except ValueError as error:
                    process.kill()
                    raise Failure(f"{words[0]}: {error}") from error
                first += len(lines)
        check(process.returncode == 0, f"spoor {words[0]}: status {process.returncode}")


def check_lossless(info):
    """No event is lost, unless by chance: info() has checked such losses."""
    check(info["events"]["lost"] == 0 or info["may_lose"], f"{info['events']['lost']} events lost")
    check(info["events"]["entry"] > 0 or info["events"]["lost"] > 0, "no event was recorded")


def check_balanced(items):
    """Each end closes the last open call with its function, depth and thread (where the call began). No call stays
    open. Returns the number of entries."""
    calls = collections.defaultdict(list)
    entries = 0
    for item in items:
        if item["kind"] == "lost":
            raise Failure(f"replay: events lost at {item['t_ns']} ns")
        place = (item.get("began_tid", item["tid"]), item["module"], item["function"], item["depth"])
        if item["kind"] == "entry":
            entries += 1
            calls[place].append(item["t_ns"])
        else:
            check(item["kind"] in ("exit", "unwound", "cut"), f"replay: unknown kind {item['kind']}")
            check(calls[place], f"replay: {item['kind']} without entry: {place}")
            check(calls[place].pop() <= item["t_ns"], f"replay: ends before it begins: {place}")
    still_open = [place for place, at in calls.items() if at]
    check(not still_open, f"replay: calls without an end: {still_open[:5]}")
    return entries
