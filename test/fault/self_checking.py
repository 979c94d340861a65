#!/usr/bin/env python3
"""A program that checks itself finds everything right under spoor, too.

    self_checking.py [--message=TEXT | --silent] [--lossless] SPOOR PROGRAM [ARGUMENT...]

--message: with -M '*' spoor prints one line with this TEXT. --silent: spoor prints only its summary, and how many
processes were killed. --lossless: no event of any thread is lost.
"""
import argparse
import os
import re

from fault import Spoor, check, check_lossless, check_right, check_runs_right, main, run, stderr_of


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("spoor", type=Spoor)
    parser.add_argument("--message")
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--lossless", action="store_true")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    given.words = [os.path.realpath(word) if os.path.exists(word) else word for word in given.words]
    return given


def check_message(spoor, words, text):
    done = run([spoor.path, "record", "-o", "trace", "-M", "*", "--", *words])
    check_right(done, "record")
    lines = [line for line in stderr_of(done).splitlines() if text in line]
    check(len(lines) == 1 and lines[0].startswith("spoor: "), f"not one line with '{text}': {stderr_of(done)}")


def check_silent(spoor, words):
    done = run([spoor.path, "record", "-o", "trace", "-M", "*", "--", *words])
    check_right(done, "record")
    check(re.fullmatch(r"(spoor: \d+ process(es)? killed by signals?: .*\n)?spoor: trace: .* functions instrumented, .*\n",
                       stderr_of(done)), f"stderr: {stderr_of(done)}")


def check_all_is_seen(spoor, words):
    for buffer in "4K", "2M":
        way = ["-M", "*", "--overflow=wait", f"--buffer={buffer}"]
        check_right(spoor.record(way, words), f"record {' '.join(way)}")
        check_lossless(spoor.info())


def test(given):
    words = given.words
    check_runs_right(given.spoor, words)
    if given.message:
        check_message(given.spoor, words, given.message)
    if given.silent:
        check_silent(given.spoor, words)
    if given.lossless:
        check_all_is_seen(given.spoor, words)


if __name__ == "__main__":
    arguments = parse()
    main(lambda: test(arguments))
