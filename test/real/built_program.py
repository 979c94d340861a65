"""built_program.py SPOOR PROGRAM STATUS: a program of the build that exits with STATUS."""
import os
import sys

from real import real_program

real_program([os.path.realpath(sys.argv[2])], status=int(sys.argv[3]))
