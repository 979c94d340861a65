#!/usr/bin/env python3
"""ctf.py SPOOR DAMAGED KINDS.C: types of C as gcc -gctf writes them and as spoor converts them from DWARF are the same,
as objdump shows them; what spoor dumps compiles; damaged files are refused."""
import json
import os
import re
import subprocess
import sys
import tempfile

spoor, damaged, source = (os.path.abspath(path) for path in sys.argv[1:])
KERNEL = "/sys/kernel/btf/vmlinux"


def run(*command, status=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == status, (command, done.returncode, done.stdout[-500:], done.stderr)
    return done.stdout if status == 0 else done.stderr


def shown(path):
    """What objdump shows of the types: lines without numbers of types."""
    text = run("objdump", "--ctf=.ctf", path)
    lines = set()
    for line in text[text.index("Function objects:"):text.index("Strings:")].splitlines():
        line = re.sub(r"\b(ID )?0x[0-9a-f]+: \(kind", "(kind", line)
        lines.add(re.sub(r"-> 0x[0-9a-f]+", "->", line).strip())
    return lines


def gcc_and_spoor_write_the_same():
    run("gcc", "-gctf", "-o", "with-ctf", source)
    run("gcc", "-g", "-o", "with-dwarf", source)
    run(spoor, "ctf", "convert", "with-dwarf", "-o", "types.ctf")
    run("objcopy", "--add-section", ".ctf=types.ctf", "with-dwarf", "converted")
    expected, found = shown("with-ctf"), shown("converted")
    variables = {line.split()[0] for line in found if re.match(r"\w+ -> \(kind [^5]", line)}
    assert variables == {"node", "wide", "big", "complex_number"}, variables
    # gcc leaves out a value beyond 31 bits.
    found -= {line for line in found if line.startswith("WIDE:")}
    assert "(kind 6) struct node" in "\n".join(found)
    assert expected <= found, sorted(expected - found)


def what_is_dumped_compiles():
    for path in ("with-ctf", "with-dwarf", "types.ctf"):
        text = run(spoor, "ctf", "dump", path)
        with open("dumped.c", "w", encoding="utf-8") as out:
            out.write(text + "struct node *check;\n_Static_assert(sizeof(struct bits) == 16, \"\");\n"
                      "_Static_assert(__builtin_offsetof(struct node, sign) == 80, \"\");\n")
        run("gcc", "-fsyntax-only", "dumped.c")
        rows = json.loads(run(spoor, "ctf", "dump", "--json", path, "struct bits"))
        assert [row["name"] for row in rows] == ["bits"] and rows[0]["size"] == 16, rows
        assert [(m["name"], m["bit_offset"], m.get("bits")) for m in rows[0]["members"]] == [
            ("a", 0, 3), ("b", 3, 7), ("c", 10, 40), ("d", 50, 1), ("e", 56, None), ("f", 69, 4)], rows


def definitions(path):
    """Of structs, unions, enums and typedefs: their texts, sorted."""
    text = run(spoor, "ctf", "dump", path)
    return sorted(re.findall(r"(?ms)^(?:struct|union|enum|typedef) \w+ \{.*?^\};|^typedef .*?;$", text))


def what_is_written_is_read():
    run(spoor, "ctf", "convert", "types.ctf", "-o", "again.ctf")
    assert definitions("types.ctf") == definitions("again.ctf") and definitions("types.ctf")


def wrong_use_is_told():
    assert run(spoor, "ctf", "dump", "types.ctf", "nods", status=1) == \
        "spoor: types.ctf: has no type nods (near: node)\n"
    run("strip", "-o", "stripped", "with-dwarf")
    assert run(spoor, "ctf", "convert", "stripped", status=1).startswith("spoor: stripped: has no types")
    with open("zeros", "wb") as out:
        out.write(bytes(1000))
    run("objcopy", "--update-section", ".debug_info=zeros", "with-dwarf", "damaged-dwarf")
    assert "none in its DWARF, which may be damaged" in run(spoor, "ctf", "dump", "damaged-dwarf", status=1)
    assert len(run(spoor, "ctf", "dump", source, status=1).splitlines()) == 1
    run(spoor, "ctf", "show", "types.ctf", status=2)
    run(spoor, "ctf", "dump", status=2)


def damage_is_refused():
    run(damaged, "types.ctf")


def the_kernels_types_are_read():
    if not os.path.exists(KERNEL):
        return
    text = run(spoor, "ctf", "dump", KERNEL, "struct list_head")
    assert "struct list_head * next;" in text and text.rstrip().endswith("/* size: 16 */"), text
    run(spoor, "ctf", "convert", KERNEL, "-o", "kernel.ctf")
    assert run(spoor, "ctf", "dump", "kernel.ctf", "struct list_head").splitlines()[1:] == text.splitlines()[1:]


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for check in (gcc_and_spoor_write_the_same, what_is_dumped_compiles, what_is_written_is_read, wrong_use_is_told,
                  damage_is_refused, the_kernels_types_are_read):
        check()
        print("ok", check.__name__)
