#!/usr/bin/env python3
"""memory.py SPOOR DUMP-TYPES: bytes of memory for each definition of a large debug file, by the difference that twice
as many make: of the table by name, of a type that is asked for, and of all types converted and shown.

memory.py SPOOR DUMP-TYPES MEGABYTES: converts a debug file of this size. Each of its units also has types of its own."""
import itertools
import os
import subprocess
import sys
import tempfile

STRUCTS, UNITS = 2000, 600
OWN = [f"Q{i}q" for i in range(10)]  # names of types that become others in each unit; short ones stand in the unit
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
MOST_BYTES = 500 << 20
spoor, dump = (os.path.abspath(path) for path in sys.argv[1:3])


def write_source(own):
    with open("one.c", "w", encoding="utf-8") as out:
        out.write("".join(f"struct s{i} {{ int first; struct s{max(0, i - 1)} *link; }};\n" for i in range(STRUCTS)))
        out.write("".join(f"struct {name} {{ struct {name} *link; }};\n" for name in own))
        out.write(f"int one(struct s{STRUCTS - 1} *p) {{ return p->first; }}\n")


def units(count):
    """The unit, COUNT times. The names OWN differ in each."""
    with open("info", "rb") as one:
        unit = bytearray(one.read())
    places = [unit.index(name.encode() + b"\0") for name in OWN]
    for i in range(count):
        for k, at in enumerate(places):
            number = i * len(OWN) + k
            unit[at:at + 3] = (LETTERS[number % 52], LETTERS[number // 52 % 63], LETTERS[number // 52 // 63 % 63])
        yield unit


def with_units(count, own=False):
    """A library whose debugging information has the unit COUNT times. This process stays small: what it takes counts
    for its children, too."""
    with open("info", "rb") as one, open("many", "wb") as many:
        same = one.read()
        for unit in units(count) if own else itertools.repeat(same, count):
            many.write(unit)
    path = f"{count}.so"
    subprocess.run(["objcopy", "--update-section", ".debug_info=many", "one.so", path], check=True)
    os.unlink("many")
    return path


def peak(*command):
    """Its peak of resident memory in bytes, and its output."""
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        assert child.returncode == 0, (command, out.read())
        out.seek(0)
        # Each unit has the function, and so does what is shown of all.
        return usage.ru_maxrss * 1024, "".join(line for line, _ in itertools.groupby(out))


def bytes_per_definition(few, many, *command):
    (less, text), (more, again) = (peak(*(word.replace("FILE", path) for word in command)) for path in (few, many))
    assert text == again, (command, text[-500:], again[-500:])
    return (more - less) / (STRUCTS * UNITS), text


def make_one(own):
    write_source(own)
    subprocess.run(["gcc", "-g", "-fno-eliminate-unused-debug-types", "-shared", "-fPIC", "-o", "one.so", "one.c"],
                   check=True)
    subprocess.run(["objcopy", "--dump-section", ".debug_info=info", "one.so", "unused.so"], check=True)


def whole(megabytes):
    count = (megabytes << 20) // os.path.getsize("info") + 1
    path = with_units(count, own=True)
    taken, _ = peak(spoor, "ctf", "convert", path, "-o", "whole.ctf")
    text = subprocess.run([spoor, "ctf", "dump", "whole.ctf"], capture_output=True, text=True, check=True).stdout
    own = min(count * len(OWN), 52 * 63 * 63)
    print(f"{os.path.getsize(path) >> 20} MB of {count} units converted with {taken >> 20} MB: {own} types of one unit each")
    assert text.count("struct s1 * link;") == 1 and text.count(" link;") == STRUCTS + own, text.count(" link;")
    assert taken < MOST_BYTES, taken


def each_definition():
    files = with_units(UNITS), with_units(2 * UNITS)
    table, said = bytes_per_definition(*files, dump, "FILE", "find", "struct s7")
    assert not said, said
    # A type that all units define is read from each of them.
    named, text = bytes_per_definition(*files, spoor, "ctf", "dump", "FILE", f"struct s{STRUCTS - 1}")
    assert f"struct s{STRUCTS - 1} {{" in text, text
    # All units define the same types: they are written once, and forgotten.
    shown, text = bytes_per_definition(*files, spoor, "ctf", "dump", "FILE")
    assert text.count("link;") == STRUCTS and "int one(struct" in text, text[-500:]
    converted, _ = bytes_per_definition(*files, spoor, "ctf", "convert", "FILE", "-o", "FILE.ctf")
    again = [subprocess.run([spoor, "ctf", "dump", f"{path}.ctf"], capture_output=True, text=True, check=True).stdout
             for path in files]
    assert again[0] == again[1] and again[0].count("link;") == STRUCTS, (again[0][-500:], again[1][-500:])
    print(f"bytes for each definition: {table:.1f} in the table, {named:.1f} for one name, {shown:.1f} shown, "
          f"{converted:.1f} converted")
    assert 4 < table < 12 and max(named, shown, converted) < 3, (table, named, shown, converted)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if len(sys.argv) > 3:
        make_one(OWN)
        whole(int(sys.argv[3]))
    else:
        make_one([])
        each_definition()
