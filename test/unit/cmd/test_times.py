#!/usr/bin/env python3
"""test_times.py WRITER SPOOR: what views print as times can be given to options. Times without a unit are taken as ever,
and a terminal is told as what."""
import os
import pty
import re
import subprocess
import sys
import tempfile

writer, spoor = (os.path.abspath(path) for path in sys.argv[1:])
CALLS = 50
STEP = 24_285_123  # ns between the starts of calls


def write_trace():
    lines = ["process 9 prog", "function main", "function leaf", "module prog", "thread 9 9 prog",
             "0 0 enter 1 1f000"]
    for i in range(1, CALLS + 1):
        lines += [f"{STEP * i} 0 enter 2 1ef00", f"{STEP * i + 1000 * i} 0 return 2 1ef00"]
    lines.append(f"{STEP * (CALLS + 1)} 0 return 1 1f000")
    subprocess.run([writer, "t"], input="\n".join(lines) + "\n", text=True, check=True)


def view(*words):
    done = subprocess.run([spoor, *words, "t"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, (words, done)
    return done.stdout.splitlines()


def times_of_replay_are_times_of_spans():
    """From the line of each call, its time and nothing else selects it."""
    lines = [line for line in view("replay", "--time") if line.endswith("leaf();")]
    assert len(lines) == CALLS
    for line in lines[::7]:
        time = line.split()[0]
        assert re.fullmatch(r"\d+\.\d{9}s", time), line
        found = view("replay", "--time", f"--since={time}", f"--until={time}")
        assert [l.split(" /*")[0] for l in found if "leaf()" in l] == [line], (line, found)


def durations_are_thresholds():
    """A duration as report prints it, with its blank, hides shorter calls."""
    for text, shown in ("25.00 us", 26), ("25.00us", 26), ("0.025ms", 26), ("1h", 0), ("25000", 26), ("25 µs", 26):
        rows = view("report", "-F", "leaf", f"--threshold={text}", "--columns=calls,min,function")
        calls = [int(row.split()[0]) for row in rows if row.endswith("leaf")]
        assert sum(calls) == shown, (text, rows)
    row = next(row for row in view("report", "--columns=max,function") if row.endswith("leaf"))
    longest = row[:8].strip()
    assert longest == "50.00 us" and len(view("replay", "-F", "leaf", "-t", longest)) == 2


def changes_have_units():
    assert all(re.match(r" *\d+\.\d{9}s ", line) for line in view("replay", "--time")[1:])


def messages(*words):
    """What a terminal is told."""
    master, slave = pty.openpty()
    subprocess.run([spoor, *words, "t"], stdout=subprocess.DEVNULL, stderr=slave, check=True)
    os.write(slave, b"end\n")
    text = b""
    while b"end" not in text:
        text += os.read(master, 4096)
    os.close(slave)
    os.close(master)
    return text.decode().replace("\r\n", "\n").splitlines()[:-1]


def terminals_are_told_units():
    assert messages("report", "-t", "5") == ["spoor: --threshold 5: 5 ns (units: ns, us, ms, s, m, h)"]
    assert messages("replay", "--since=7", "--until", "1500")[1].startswith("spoor: --until 1500: 1.500 us (")
    assert messages("report", "-t", "5ns", "--since=0") == []


def empty_ranges_are_refused():
    begin, end = f"{STEP * 2}", f"{STEP}"
    for words in ("report",), ("replay",), ("graph",), ("export", "--format=csv"), ("diff", "t"):
        for since, until in (begin, end), ("90%", "10%"), ("90%", "1ms"), ("1h", "50%"), ("1h", "2%"):
            done = subprocess.run([spoor, *words, f"--since={since}", f"--until={until}", "t"], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert done.returncode == 1 and not done.stdout, (words, since, until, done)
            assert re.fullmatch("spoor: t: nothing is shown: --since is .*, which is later than --until: .*\n",
                                done.stderr), (words, done)
    assert view("replay", f"--since={begin}", f"--until={begin}")
    assert view("replay", "--since=50%", "--until=50%") and view("replay", "--since=1ms", "--until=50%")


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    write_trace()
    times_of_replay_are_times_of_spans()
    durations_are_thresholds()
    changes_have_units()
    terminals_are_told_units()
    empty_ranges_are_refused()
