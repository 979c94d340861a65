"""A Rust program: panics that are caught, that end threads, that end the program."""
from real import compiled, real_program, which

DIRECTORY = compiled([which("rustc"), "-O"], "panics.rs")
COUNTS = {"dive": 21 + 1 + 3 + 5 + 7, "words": 8}

real_program([f"{DIRECTORY}/panics"], status=101, counts=COUNTS)
