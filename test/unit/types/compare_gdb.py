#!/usr/bin/env python3
"""Compares the types that spoor reads from a file with those of gdb: sizes, members' offsets, values of enums.

    compare_gdb.py DUMP-TYPES FILE LEAST     LEAST: fewer types that are compared fail the test
"""
import collections
import json
import re
import subprocess
import sys
import tempfile

INSIDE_GDB = r'''
import gdb, json
names = json.load(open(NAMES))
def describe(name, kind):
    try:
        t = gdb.lookup_type((kind + " " if kind in ("struct", "union", "enum") else "") + name)
    except gdb.error:
        try:
            t = gdb.lookup_type(name)
        except gdb.error:
            return None
    t = t.strip_typedefs()
    fields = []
    if t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ENUM):
        for f in t.fields():
            if hasattr(f, "enumval"):
                fields.append([f.name.split("::")[-1], f.enumval])
            elif hasattr(f, "bitpos"):
                fields.append([f.name or "", f.bitpos, f.bitsize, f.type.sizeof, bool(f.is_base_class)])
    return {"bytes": t.sizeof, "fields": fields}
out = [describe(name, kind) for kind, name in names]
json.dump(out, open(NAMES, "w"))
'''


def read_dump(dump, path):
    """{(kind, name): (bytes, [member lines])} of types whose name has one definition."""
    found = collections.defaultdict(list)
    text = subprocess.run([dump, path, "types"], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        if line.startswith("  "):
            current[1].append(line[2:])
            continue
        kind, rest = line.split(" ", 1)
        name, size, _ = rest.rsplit("|", 2)
        current = (int(size), [])
        found[(kind, name)].append(current)
    return {key: value[0] for key, value in found.items()
            if all(one == value[0] for one in value)}


def ask_gdb(path, keys):
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as names:
        json.dump(keys, names)
    script = tempfile.NamedTemporaryFile("w", suffix=".py", delete=False)
    script.write(f"NAMES = {names.name!r}\n" + INSIDE_GDB)
    script.close()
    subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-x", script.name, path], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(names.name, encoding="utf-8") as answers:
        return json.load(answers)


DISCRIMINANT, VARIANT, VIRTUAL = 4, 8, 32  # enum type_member_flag


def members_of(lines):
    for line in lines:
        place, rest = line.split(" ", 1)
        at, bits = map(int, place.split(":"))
        name, _, member_flags, _ = rest.rsplit("|", 3)
        yield name, at, bits, int(member_flags, 16)


def differences(kind, mine, theirs):
    size, lines = mine
    # gdb: void has one byte, as GNU C has it, and nullptr_t none.
    if size != theirs["bytes"] and not (kind == "typedef" and {size, theirs["bytes"]} in ({0, 1}, {0, 8})):
        yield f"{size} bytes, gdb: {theirs['bytes']}"
    if kind == "enum":
        values = {line.rsplit(" = ", 1)[0]: int(line.rsplit(" = ", 1)[1]) for line in lines}
        if values != dict(theirs["fields"]):
            yield f"values {values}, gdb: {theirs['fields']}"
        return
    if kind not in ("struct", "union"):
        return
    if any(member[3] & (VARIANT | DISCRIMINANT) for member in members_of(lines)):
        return  # gdb has made other types of these
    own, fields = list(members_of(lines)), theirs["fields"]
    if len(own) != len(fields):
        yield f"{len(own)} members, gdb: {len(fields)}"
    for (name, at, bits, member_flags), field in zip(own, fields):
        if member_flags & VIRTUAL:
            continue
        if not field[4] and name != field[0]:
            yield f"member {name}, gdb: {field[0]}"
        elif (at, bits) != (field[1], field[2]):
            yield f"member {name} at {at}, {bits} bits, gdb: {field[1]}, {field[2]}"


def main():
    dump, path, least = sys.argv[1], sys.argv[2], int(sys.argv[3])
    types = read_dump(dump, path)
    # gdb knows base types by itself, with other sizes than Go's.
    kinds = ("struct", "union", "enum", "typedef")
    keys = [key for key in types if key[0] in kinds and not re.search(r"[(){}]", key[1])]
    compared = wrong = 0
    for key, theirs in zip(keys, ask_gdb(path, keys)):
        if theirs is None:
            continue
        compared += 1
        for text in differences(key[0], types[key], theirs):
            wrong += 1
            print(f"{key[0]} {key[1]}: {text}")
    print(f"{compared} types compared, {wrong} differences")
    sys.exit(1 if wrong or compared < least else 0)


main()
