#!/usr/bin/env python3
"""slices.py [--documented=FILE]: the cost of a slice of the stack (--stack) for a thread on Arm, in instructions.

Stub and agent run in QEMU's user-mode emulator, which logs each instruction (test/arch/a32/cost.c, a64/cost.c). The
table shows the instructions for a slice without words, for each word that is looked at, and more for each word that
goes into the ring. The count of another slice must agree with them. The last column is for a frame of 16 words, half
of which go into the ring, as in bench.py.

--documented: each row of the table must be in FILE. Exits with 77 if compiler or emulator are missing."""
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
        self.slice, self.event = subprocess.run([self.emulator, "-cpu", "max", self.program, state], check=True,
                                                capture_output=True, text=True).stdout.split()

    def count(self, words, kept):
        """The number of executed instructions in stub and agent for a slice."""
        return self._run(self.slice, str(words), str(kept))

    def count_event(self):
        """The same for an event."""
        return self._run(self.event, "event")

    def _run(self, place, *words):
        subprocess.run([self.emulator, "-cpu", "max", "-singlestep", "-d", "nochain,exec", "-dfilter", place,
                        "-D", self.log, self.program, self.state, *words], check=True)
        with open(self.log, encoding="utf-8") as log:
            return sum(line.startswith("Trace") for line in log)


def measure(how, state):
    """Returns instructions of a slice, of each word, and of each word that is kept."""
    with tempfile.TemporaryDirectory() as folder:
        counter = Counter(how, state, folder)
        some, more = counter.count(WORDS, 0), counter.count(2 * WORDS, 0)
        word = (more - some) // WORDS
        kept = (counter.count(WORDS, KEPT) - some) // KEPT
        fixed = some - WORDS * word
        other = counter.count(WORDS + 7, KEPT + 5)
    if other != fixed + (WORDS + 7) * word + (KEPT + 5) * kept:
        sys.exit(f"{state}: a slice takes {other} instructions, which does not agree with the others")
    return fixed, word, kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--documented", help="a file with the table")
    documented = parser.parse_args().documented
    if not all(shutil.which(tool) for how in (a64, arm) for tool in (how.COMPILER, how.EMULATOR)):
        print("a compiler or an emulator is missing")
        return 77
    rows = []
    for name, (how, state) in STATES.items():
        fixed, word, kept = measure(how, state)
        rows.append(f"| {name} | {fixed} | {word} | {kept} | {FRAME_WORDS * word + FRAME_KEPT * kept} |")
    print("\n".join([TITLE, *rows]))
    text = open(documented, encoding="utf-8").read() if documented else ""
    missing = [row for row in rows if documented and row not in text]
    if missing:
        print(f"{documented} has not these rows: {missing}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
