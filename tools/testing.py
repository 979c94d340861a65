"""Shared by the tools that run tests: Meson's descriptions of tests, running them, counting results."""
import glob
import json
import os
import subprocess
import time

PASSED = {"OK"}
LINES_OF_FAILED = 10
SKIPPED = {"SKIP": "skipped", "EXPECTEDFAIL": "known limit"}
DURATIONS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "test", "durations.txt")
ROUND = "a round"
NOTED = os.path.join("meson-logs", "noted.json")
LOGS = os.path.join("meson-logs", "counted*.json")


def durations():
    """{name of a test: seconds}, as tools/slowest --update writes it."""
    known = {}
    with open(DURATIONS, encoding="utf-8") as lines:
        for line in lines:
            seconds, _, name = line.strip().partition(" ")
            if name and seconds != "#":
                known[name.strip()] = float(seconds)
    return known


def note(directory, name, seconds):
    """Keeps the duration of something that Meson does not log; noted() returns it."""
    path = os.path.join(directory, NOTED)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        json.dump([name, seconds], out)


def noted(directory):
    """What note() has kept: (name, seconds), or None."""
    path = os.path.join(directory, NOTED)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def environment(directory, test):
    """The environment of a test that runs without "meson test": as in Meson's test setups (test/meson.build), the
    cache of plans is not the user's."""
    return {**os.environ, "XDG_CACHE_HOME": os.path.join(os.path.realpath(directory), "test-cache"), **test["env"]}


def is_set_up(directory):
    return os.path.exists(os.path.join(directory, "build.ninja"))


def tests_of(directory):
    """Meson's descriptions of the tests."""
    text = subprocess.run(["meson", "introspect", "--tests", directory], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(text)


def build(directory, tests):
    """Builds only what TESTS need."""
    wanted = {target for test in tests for target in test.get("depends", ())}
    if wanted:
        with open(os.path.join(directory, "meson-info", "intro-targets.json"), encoding="utf-8") as file:
            targets = [target for target in json.load(file) if target["id"] in wanted]
        files = {os.path.relpath(name, os.path.realpath(directory)) for target in targets for name in target["filename"]}
        subprocess.run(["ninja", "-C", directory, *sorted(files)], check=True)


def suites_of(test):
    """The test's suites, without the project's name."""
    return {suite.split(":")[-1] for suite in test["suite"]}


def last_line(text):
    return text.rstrip().rpartition("\n")[2]


def output_of(test):
    """Why the test was skipped, or the end of its output if it failed."""
    if test["result"] in PASSED | SKIPPED.keys():
        return last_line(test.get("stdout", ""))
    printed = test.get("stdout", "") + test.get("stderr", "")
    return "".join(f"\n    {line}" for line in printed.splitlines()[-LINES_OF_FAILED:])


def logged(directory):
    """The tests of the last run in Meson's log."""
    for log in glob.glob(os.path.join(directory, LOGS)):
        with open(log, encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def run(directory, options, before=(), environment=None, out=None):
    """Builds and runs tests of one build directory. OPTIONS: options of "meson test", or names of tests. BEFORE: words
    before that command. OUT: a file for what it prints. Returns (name, result, reason or output) of each."""
    if not is_set_up(directory):
        return [(f"all tests of {directory}", "SKIP", "it is not set up")]
    for old in glob.glob(os.path.join(directory, LOGS)):
        os.remove(old)
    start = time.monotonic()
    status = subprocess.run([*before, "meson", "test", "-C", directory, "--print-errorlogs", "--logbase", "counted",
                             *options], env=environment, stdout=out).returncode
    results = [(t["name"], t["result"], output_of(t)) for t in logged(directory)]
    print(f"{directory}: {len(results)} tests in {minutes(time.monotonic() - start)}", file=out, flush=True)
    failed = any(r not in PASSED | SKIPPED.keys() for _, r, _ in results)
    if not results or (status != 0 and not failed):
        results.append((f"meson test -C {directory}", f"status {status}", ""))
    return results


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02} minutes"


def count(results):
    """(passed, failed, skipped): numbers of tests."""
    passed = sum(result in PASSED for _, result, _ in results)
    skipped = sum(result in SKIPPED for _, result, _ in results)
    return passed, len(results) - passed - skipped, skipped


def print_results(results):
    """Prints which tests were skipped or failed, and why."""
    for name, result, why in results:
        if result in SKIPPED:
            print(f"{SKIPPED[result]}: {name}" + (f" ({why})" if why and result == "SKIP" else ""))
    for name, result, how in results:
        if result not in PASSED | SKIPPED.keys():
            print(f"failed: {name} ({result}){how}")


def conclude(passed, failed, skipped):
    """Prints the last line of a run, and returns its status."""
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0
