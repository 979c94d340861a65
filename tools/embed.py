#!/usr/bin/env python3
"""embed.py OUTPUT NAME [INPUT]: writes a C array with the bytes of INPUT. Without INPUT the size is 0."""
import sys

target, name, *sources = sys.argv[1:]
data = b"".join(open(source, "rb").read() for source in sources)
ROOM = 64  # bytes of an empty array, which code may read
shown = data or bytes(ROOM)
rows = [", ".join(f"0x{b:02x}" for b in shown[i:i + 12]) for i in range(0, len(shown), 12)]
with open(target, "w") as out:
    out.write("/* Generated from a file. */\n")
    out.write(f"const uint8_t {name}_bytes[] = {{\n    " + ",\n    ".join(rows) + ",\n};\n")
    out.write(f"const size_t {name}_size = {len(data)};\n")
