#!/usr/bin/env python3
"""Turns a flat binary into a C array: embed.py INPUT OUTPUT NAME."""
import sys

source, target, name = sys.argv[1:]
data = open(source, "rb").read()
rows = [", ".join(f"0x{b:02x}" for b in data[i:i + 12]) for i in range(0, len(data), 12)]
with open(target, "w") as out:
    out.write("/* Generated from the agent's assembly. */\n")
    out.write(f"const uint8_t {name}_bytes[] = {{\n    " + ",\n    ".join(rows) + ",\n};\n")
    out.write(f"const size_t {name}_size = {len(data)};\n")
