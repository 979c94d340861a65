"""No line of a view of cases/*.events is longer than the terminal: test_widths.py WRITER SPOOR CASES FOLDER

FOLDER has terminal.py. A command that would be too long continues behind a backslash.
"""
import os
import subprocess
import sys
import tempfile

writer, spoor = (os.path.abspath(path) for path in sys.argv[1:3])
cases = os.path.abspath(sys.argv[3])
sys.path.insert(0, sys.argv[4])
from terminal import on_terminal  # noqa: E402

VIEWS = (["report"], ["report", "--slowest=4"], ["report", "--by-thread"], ["replay"], ["replay", "--time"],
         ["graph"], ["diff", "t"], ["diff", "--by-path", "other"])
CASES = ("before", "calls", "callers", "changes", "crash", "forks", "inferred", "threads")


def make(case, trace):
    with open(os.path.join(cases, case + ".events"), encoding="utf-8") as events:
        subprocess.run([writer, trace], stdin=events, check=True)
    if os.path.exists(trace + ".part"):
        os.rename(trace + ".part", trace)


def deep_events():
    """A recursion of which each call was open before, and is cut."""
    names = ["process 9 prog", "function main", "function down", "module prog", "thread 9 9 prog"]
    calls = ",".join(f"{1 + (i > 0)}@{0x90000 - 16 * i:x}" for i in range(400))
    return "\n".join([*names, f"1000 0 frames {calls}", "2000 0 lost 7", "3000 0 enter 2 1f000", "4000 0 end"]) + "\n"


def widest(columns, view):
    return max(on_terminal(columns, [spoor, *view, "t"]), key=len, default="")


def check(case, views=VIEWS):
    for columns in (80, 72):
        for view in views:
            line = widest(columns, view)
            assert len(line) <= columns, f"{case}: {view} at {columns} columns: {line}"


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    make("calls", "other")
    for name in CASES:
        make(name, "t")
        check(name)
    check("threads, nothing shown", [["report", "--since=1000s"]])
    subprocess.run([writer, "t"], input=deep_events(), text=True, check=True)
    check("deep")
    assert any("¦ */" in line for line in on_terminal(72, [spoor, "replay", "t"]))
    # Paths have the room of the columns that they can do without.
    paths = on_terminal(80, [spoor, "diff", "--by-path", "other", "t"])
    assert max(line.count(" < ") for line in paths) >= 5, paths
