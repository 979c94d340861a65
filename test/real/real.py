"""Shared by the scripts of this folder: a real program does the same alone, traced with the default options, and with
all functions of all modules traced. No event is lost."""
import atexit
import collections
import hashlib
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "trace"))

from harness import (SKIP, Failure, Spoor, check, check_lossless,  # noqa: E402
                     check_same, check_same_outcome, main, run)

__all__ = ["Failure", "check", "compiled", "real_program", "run", "which"]

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "TERM": "dumb",
               "PYTHONHASHSEED": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}
# spoor's plans do not belong to the files that a program makes.
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
SPOOR = os.path.realpath(sys.argv[1])  # absolute: tests change the directory


def which(name):
    """The path of a program of the distribution. Skips the test if it is not installed."""
    path = shutil.which(name, path=ENVIRONMENT["PATH"])
    if not path:
        print(f"{name} is not installed")
        sys.exit(SKIP)
    return path


def compiled(compiler, source, **environment):
    """Compiles programs/SOURCE in a new directory; returns the directory. COMPILER is a command to which the
    source's path is added."""
    directory = tempfile.mkdtemp(prefix="spoor-test-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    folder = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs")
    done = run([*compiler, os.path.join(folder, source)], cwd=directory,
               env={**ENVIRONMENT, "HOME": directory, **environment})
    check(done.status == 0, f"{compiler[0]}: {done.stderr.decode(errors='replace')}")
    return directory


def files_in(directory):
    """Lines with name and digest of each file."""
    lines = []
    for folder, _, names in sorted(os.walk(directory)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, "rb") as data:
                digest = hashlib.sha256(data.read()).hexdigest()
            lines.append(f"{os.path.relpath(path, directory)} {digest[:16]}")
    return lines


def attempt(run_it, prepare):
    """Calls RUN_IT in a new directory, always of the same name. Returns (outcome, files that are left there)."""
    shutil.rmtree("work", ignore_errors=True)
    os.mkdir("work")
    prepare("work")
    environment = {**ENVIRONMENT, "HOME": os.path.realpath("work"), "XDG_CACHE_HOME": CACHE}
    return run_it(cwd="work", env=environment), files_in("work")


def check_trace(spoor, what, processes, counts, least=0.5):
    """LEAST: the least share of functions that must be traced."""
    info = spoor.info()
    check_lossless(info)
    check(info["processes"] >= processes,
          f"{what}: {info['processes']} processes instead of {processes} or more")
    functions = info["functions"]
    check(functions["instrumented"] >= functions["seen"] * least,
          f"{what}: {functions['instrumented']} of {functions['seen']} functions instrumented")
    calls = collections.Counter()
    for row in spoor.report():
        calls[row["function"]] += row["calls"]
    lost = info["events"]["lost"] > 0
    check(0 < calls.total() + lost and calls.total() <= info["events"]["entry"],
          f"{what}: {calls.total()} calls from {info['events']['entry']} entries")
    for name, count in counts.items():
        check(calls[name] == count or (lost and calls[name] < count),
              f"{what}: {name} was called {calls[name]} times instead of {count}")


def real_program(command, prepare=lambda directory: None, status=0, processes=1, counts=None,
                 libcalls=False):
    """The test. COMMAND alone ends with STATUS and prints something. COUNTS: {function: calls} that the report must
    show. LIBCALLS: traces with --libcalls, too."""
    spoor = Spoor(SPOOR)

    def test():
        trace = os.path.realpath("trace")
        alone, files = attempt(lambda **how: run(command, **how), prepare)
        check(alone.status == status, f"alone: status {alone.status}: {alone.stderr.decode()}")
        check(alone.stdout, "alone: prints nothing")
        ways = [([], 0.5), (["-M", "*"], 0.5), (["--libcalls"], 0)]
        for options, least in ways if libcalls else ways[:2]:
            what = "spoor record " + " ".join(options)
            traced, left = attempt(
                lambda **how: spoor.record(options, command, trace, **how), prepare)
            check_same_outcome(alone, traced, what)
            check_same(f"{what}: files", files, left)
            check_trace(spoor, what, processes, counts or {} if least else {}, least)

    main(test)
