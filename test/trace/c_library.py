#!/usr/bin/env python3
"""c_library.py SPOOR: values of calls of a C library that has no debugging information, by its headers' prototypes."""
import os
import re
import shutil
import sys

from harness import Spoor, check, check_same, main, run


def nameless_library():
    """A copy of libc.so.6, in libraries/, for which no debugging information is found."""
    linked = run(["ldd", shutil.which("cat")]).stdout.decode()
    notes = run(["readelf", "-n", re.search(r"libc\.so\.6 => (\S+)", linked)[1]]).stdout.decode()
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    with open(re.search(r"libc\.so\.6 => (\S+)", linked)[1], "rb") as library:
        content = library.read()
    if found:
        content = content.replace(bytes.fromhex(found[1]), b"?" * (len(found[1]) // 2))
    os.mkdir("libraries")
    with open("libraries/libc.so.6", "wb") as copy:
        copy.write(content.replace(b".gnu_debuglink\0", b".no__debuglink\0"))
    os.chmod("libraries/libc.so.6", 0o755)


def record(spoor, *words):
    done = run([spoor.path, "record", "-o", "trace", *words, "cat", "text"],
               env={**os.environ, "LD_LIBRARY_PATH": os.path.abspath("libraries")})
    check(done.status == 0 and done.stdout == b"0123456789\n", f"{words}: {done}")
    shown = run([spoor.path, "replay", "trace"]).stdout.decode()
    return re.findall(r"\| *((?:open|read|write|strrchr|strtol)\(.*);", shown), done.stderr.decode()


def test(path):
    spoor = Spoor(path)
    nameless_library()
    with open("text", "w", encoding="utf-8") as text:
        text.write("0123456789\n")
    calls, _ = record(spoor, "--libcalls", "-A", "open", "-A", "read", "-R", "read", "-A", "write@fd")
    check('open(file="text", oflag=0)' in calls, f"{calls}")
    check_same("results", ["11", "0"], [call.split(" = ")[1] for call in calls if "read(fd=3, buf=0x" in call])
    check("write(fd=1)" in calls, f"{calls}")
    calls, _ = record(spoor, "--libcalls", "-a")
    check(any(re.match(r'open\(file="text", oflag=0\) = 3$', call) for call in calls), f"{calls}")
    calls, _ = record(spoor, "--libcalls", "--where", "read/fd == 3 && ret > 0/")
    check_same("one call of two", ["read(fd=3) = 11"], [re.sub(r" = \d+$", " = 11", call) for call in calls])
    calls, _ = record(spoor, "--libcalls", "-A", "strrchr")  # an IFUNC: its code has another name
    check(any(re.match(r'strrchr\(\w+="cat"', call) for call in calls), f"{calls}")
    calls, errors = record(spoor, "-A", "libc.so.6!__read_chk")
    check("__read_chk: its types are not known" in errors, errors)


spoor_path = os.path.realpath(sys.argv[1])
main(lambda: test(spoor_path))
