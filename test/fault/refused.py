#!/usr/bin/env python3
"""If a sandbox forbids ptrace, spoor says so in one line and does not run the program. If it forbids another system
call (kcmp), spoor traces without it.

    refused.py SPOOR PROGRAM COPIES LIBRARY

PROGRAM is programs/rights.c, COPIES programs/clone_kinds.c.
"""
import ctypes
import os
import platform
import struct
import sys

from fault import SKIP, Spoor, check, check_right, main, run, stderr_of

PTRACE, KCMP = {"x86_64": (101, 312), "aarch64": (117, 272)}.get(platform.machine(), (26, 378))  # 32-bit Arm's
PIDFD_OPEN, PIDFD_GETFD = 434, 438
EPERM, ENOSYS = 1, 38
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER_MODE = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN, ALLOW, FAIL = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000


def forbid(numbers, error):
    """A function that makes system calls of these NUMBERS fail with ERROR in the process that calls it, and in its
    children."""
    def instruction(code, if_true, if_false, k):
        return struct.pack("<HBBI", code, if_true, if_false, k)

    code = [instruction(LOAD, 0, 0, 0)]
    for left, number in zip(range(len(numbers), 0, -1), numbers):
        code.append(instruction(JUMP_IF_EQUAL, left, 0, number))
    code += [instruction(RETURN, 0, 0, ALLOW), instruction(RETURN, 0, 0, FAIL | error)]
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(b"".join(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    program = Program(len(code), ctypes.addressof(text))
    program.text = text  # keeps the instructions alive

    def become():
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or \
                libc.prctl(PR_SET_SECCOMP, FILTER_MODE, ctypes.byref(program), 0, 0):
            os._exit(SKIP)
    return become


def test(spoor, program, copies, library):
    command = [program, "have", "none", "two words"]
    os.environ["RIGHTS_TEST"] = "here"
    if run(command, preexec_fn=forbid([PTRACE], EPERM)).status == SKIP:
        print("the kernel has no seccomp")
        sys.exit(SKIP)
    for error in EPERM, ENOSYS:
        done = spoor.record([], command, preexec_fn=forbid([PTRACE], error))
        check(done.status == 125 and not done.stdout, f"error {error}: {done.status}, {done.stdout!r}")
        check(stderr_of(done).startswith(f"spoor: {program}: cannot be traced: ") and
              "seccomp" in stderr_of(done) and stderr_of(done).count("\n") == 1, f"error {error}: {stderr_of(done)}")
        check(not os.path.exists("trace") and not os.path.exists("trace.part"), "a trace is left")
    for options in [], ["-M", "*"], ["-M", "*", "--no-follow"]:
        how = {"preexec_fn": forbid([KCMP, PIDFD_OPEN, PIDFD_GETFD], EPERM)}
        for words in command, [copies, library]:
            check_right(spoor.record(options, words, **how), f"{' '.join(options)} {words[0]}")
        check(spoor.info()["events"]["entry"] > 0, "no event")


if __name__ == "__main__":
    tracer, given = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:5]]
    main(lambda: test(tracer, *given))
