#!/usr/bin/env python3
"""embed_files.py OUTPUT NAME INPUT...: writes a C table NAME of files: their names, sizes and bytes, each with a zero
behind it. The table ends with a name of NULL."""
import os
import sys

target, name, *sources = sys.argv[1:]
with open(target, "w") as out:
    out.write("/* Generated from files. */\n")
    rows = []
    for i, source in enumerate(sources):
        data = open(source, "rb").read()
        shown = data + b"\0"
        lines = [", ".join(f"0x{b:02x}" for b in shown[k:k + 16]) for k in range(0, len(shown), 16)]
        out.write(f"static const unsigned char {name}_{i}[] = {{\n    " + ",\n    ".join(lines) + ",\n};\n")
        rows.append(f'    {{"{os.path.basename(source)}", {name}_{i}, {len(data)}}},\n')
    out.write(f"const struct page_file {name}[] = {{\n{''.join(rows)}    {{NULL, NULL, 0}},\n}};\n")
