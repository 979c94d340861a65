#!/usr/bin/env python3
"""A program that checks itself does right under spoor as well.

    lives.py SPOOR PROGRAM [ARGUMENT...]
"""
import os
import sys

from fault import Spoor, check_runs_right, main

if __name__ == "__main__":
    tracer = Spoor(sys.argv[1])
    words = [os.path.realpath(word) for word in sys.argv[2:]]
    main(lambda: check_runs_right(tracer, words))
