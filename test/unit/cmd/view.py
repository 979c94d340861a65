"""Compares what a view prints with a file: view.py WRITER SPOOR CASES EXPECTED CASE ARGUMENT...

WRITER makes the trace t from CASES/CASE.events; with OLD+CASE also the trace t.old from CASES/OLD.events. The first line of EXPECTED is the exit status if it is not 0
("status 1"). Standard error follows the output. With UPDATE=1 in the environment EXPECTED is written instead. "t" is
added as last argument if it is not among the ARGUMENTs. The trace's size depends on zstd's version, so it is written
as 0.
"""
import os
import re
import subprocess
import sys
import tempfile

writer, spoor, cases, expected, case, *arguments = sys.argv[1:]
arguments += [] if "t" in arguments else ["t"]
spoor, expected = os.path.abspath(spoor), os.path.join(cases, expected)

with tempfile.TemporaryDirectory() as directory:
    for name, described in zip(("t", "t.old"), reversed(case.split("+"))):
        trace = os.path.join(directory, name)
        with open(os.path.join(cases, described + ".events"), encoding="utf-8") as events:
            subprocess.run([writer, trace], stdin=events, check=True)
        if not os.path.exists(trace):
            os.rename(trace + ".part", trace)
    done = subprocess.run([spoor, *arguments], cwd=directory, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False,
                          env={**os.environ, "COLUMNS": "", "NO_COLOR": ""})

got = re.sub(rb'^("bytes": )\d+|^(file +)\d.*', lambda m: (m[1] or m[2]) + b"0", done.stdout, flags=re.M)
got += done.stderr
if done.returncode:
    got = b"status %d\n" % done.returncode + got
if os.environ.get("UPDATE"):
    with open(expected, "wb") as out:
        out.write(got)
with open(expected, "rb") as file:
    wanted = file.read()
if got != wanted:
    print(f"$ spoor {' '.join(arguments)}\n--- {expected}")
    print(wanted.decode(errors="replace") + "--- what it printed\n" + got.decode(errors="replace"))
    sys.exit(1)
