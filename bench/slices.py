#!/usr/bin/env python3
"""slices.py [--told=FILE]: what a slice of the stack (--stack) costs a thread on Arm's processors, in instructions.

Stub and agent run in QEMU's emulator of processors, one instruction at a time, each of which it tells (test/arch/a32/cost.c,
test/arch/a64/cost.c): how many are for a slice without a word, for each word that is looked at, and more for each that goes into the
ring, which must explain another slice. A call in between is taken to have a frame of 16 words, half of which go into the ring,
as those of bench.py have.

With --told each row of the table must stand in FILE. Ends with 77 where compiler or emulator are missing."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
sys.path += [os.path.join(SOURCE, "test/arch"), os.path.join(SOURCE, "test/arch/a64")]
import run as a64  # noqa: E402
import run_arm as arm  # noqa: E402

STATES = {"AArch64": (a64, "a64"), "A32": (arm, "a32"), "T32": (arm, "t32")}
WORDS, KEPT = 64, 32
FRAME_WORDS, FRAME_KEPT = 16, 8
TITLE = "| | a slice without words | each word | each word that is kept, besides | a frame of 16 words, 8 kept |\n|---|--:|--:|--:|--:|"


def build(how, folder):
    how.embed_agent(SOURCE, folder)
    return how.build(SOURCE, *(["a32"] if how is arm else []), "cost", folder)


class Counter:
    def __init__(self, how, state, folder):
        self.emulator, self.state, self.log = how.EMULATOR, state, os.path.join(folder, "log")
        self.program = build(how, folder)
        self.place = subprocess.run([self.emulator, "-cpu", "max", self.program, state], check=True,
                                    capture_output=True, text=True).stdout.strip()

    def count(self, words, kept):
        """Instructions at the place where stub and agent stand."""
        subprocess.run([self.emulator, "-cpu", "max", "-singlestep", "-d", "nochain,exec", "-dfilter", self.place,
                        "-D", self.log, self.program, self.state, str(words), str(kept)], check=True)
        with open(self.log, encoding="utf-8") as log:
            return sum(line.startswith("Trace") for line in log)


def measure(how, state):
    """The price of a slice, of each word, and of each that is kept."""
    with tempfile.TemporaryDirectory() as folder:
        counter = Counter(how, state, folder)
        some, more = counter.count(WORDS, 0), counter.count(2 * WORDS, 0)
        word = (more - some) // WORDS
        kept = (counter.count(WORDS, KEPT) - some) // KEPT
        fixed = some - WORDS * word
        other = counter.count(WORDS + 7, KEPT + 5)
    if other != fixed + (WORDS + 7) * word + (KEPT + 5) * kept:
        sys.exit(f"{state}: a slice takes {other} instructions, which words do not explain")
    return fixed, word, kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--told", help="a file with the table")
    told = parser.parse_args().told
    if not all(shutil.which(tool) for how in (a64, arm) for tool in (how.COMPILER, how.EMULATOR)):
        print("a compiler or an emulator is missing")
        return 77
    rows = []
    for name, (how, state) in STATES.items():
        fixed, word, kept = measure(how, state)
        rows.append(f"| {name} | {fixed} | {word} | {kept} | {FRAME_WORDS * word + FRAME_KEPT * kept} |")
    print("\n".join([TITLE, *rows]))
    text = open(told, encoding="utf-8").read() if told else ""
    missing = [row for row in rows if told and row not in text]
    if missing:
        print(f"{told} does not tell this: {missing}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
