#!/usr/bin/env python3
"""Programs with set-user-ID, set-group-ID or capabilities get their rights. spoor traces them if it has the right to do
so; otherwise they run untraced, and spoor says so. Needs root to install such programs.

    rights.py SPOOR PROGRAM
"""
import os
import shutil
import struct
import sys

from fault import SKIP, Spoor, check, main, run, stderr_of

NOBODY = 65534
CAPABILITY = struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0)  # net_raw, effective
KINDS = {"user": 0o4755, "group": 0o2755, "capability": 0o755, "none": 0o755}


def become_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def install(program):
    """Installs a copy of PROGRAM of each kind. Returns the kinds that this file system and kernel honour."""
    kinds = []
    for kind, mode in KINDS.items():
        shutil.copyfile(program, kind)
        os.chown(kind, 0, 0)
        os.chmod(kind, mode)
        try:
            if kind == "capability":
                os.setxattr(kind, "security.capability", CAPABILITY)
        except OSError:
            continue
        alone = run([f"./{kind}", "have", kind, "two words"], preexec_fn=become_nobody)
        if alone.stdout == b"right\n":
            kinds.append(kind)
    return kinds


def check_right(done, times, what):
    check(done.status == 42 and done.stdout == b"right\n" * times,
          f"{what}: status {done.status}, {done.stdout!r}, and:\n{stderr_of(done)}")


def check_messages(done, times, what):
    messages = stderr_of(done).count("runs untraced")
    check(messages == times, f"{what}: {messages} messages instead of {times}:\n{stderr_of(done)}")


def try_kind(spoor, kind):
    """As nobody: records the program itself, and a program that executes it in five ways."""
    had = 0 if kind == "none" else 1
    for options in [], ["-M", "*"], ["--no-follow"], ["-F", "work"]:
        record = [spoor.path, "record", *options, "-o", "work/trace", "--"]
        what = f"{kind}, {' '.join(options)}"
        done = run(record + [f"./{kind}", "have", kind, "two words"], preexec_fn=become_nobody)
        check_right(done, 1, what)
        check_messages(done, had, what)
        check((spoor.info("work/trace")["events"]["entry"] > 0) == (kind == "none"), f"{what}: events")
        done = run(record + ["./none", "spawn", f"./{kind}", kind], preexec_fn=become_nobody)
        check_right(done, 5, f"{what}, executed")
        unfollowed = 1 if "--no-follow" in options else 5
        check(stderr_of(done).count("runs untraced") >= had * unfollowed, f"{what}: messages:\n{stderr_of(done)}")
        check(had or "runs untraced" not in stderr_of(done), f"{what}: a message without a reason")


def try_as_root(spoor):
    """A program of root's drops its rights and executes one that has them: spoor traces both."""
    record = [spoor.path, "record", "-o", "work/trace", "--"]
    done = run(record + ["/bin/sh", "-c", "exec setpriv --reuid=65534 --regid=65534 --clear-groups "
                         "./user have user 'two words'"])
    check_right(done, 1, "as root")
    check_messages(done, 0, "as root")
    names = {row["function"] for row in spoor.report("work/trace")}
    check("work" in names, f"as root: {names}")


def try_unreadable(spoor, program):
    """A program that spoor may execute but not read is refused. Executed by another program, it runs untraced."""
    shutil.copyfile(program, "closed")
    os.chmod("closed", 0o711)
    command = ["./closed", "have", "none", "two words"]
    check_right(run(command, preexec_fn=become_nobody), 1, "closed, alone")
    record = [spoor.path, "record", "-o", "work/trace", "--"]
    done = run(record + command, preexec_fn=become_nobody)
    check(done.status == 125 and not done.stdout and "not read" in stderr_of(done), f"closed: {stderr_of(done)}")
    done = run(record + ["./none", "spawn", "./closed", "none"], preexec_fn=become_nobody)
    check_right(done, 5, "closed, executed")
    check("not read" in stderr_of(done), f"closed, executed: {stderr_of(done)}")


def test(spoor, program):
    os.chmod(".", 0o755)
    os.mkdir("work")
    os.chown("work", NOBODY, NOBODY)
    shutil.copy(spoor.path, "spoor")
    os.environ["RIGHTS_TEST"] = "here"
    kinds = install(program)
    print("kinds of rights on this machine:", kinds)
    check("none" in kinds, "a program without rights does not end right")
    own_spoor = Spoor("spoor")
    for kind in kinds:
        try_kind(own_spoor, kind)
    try_unreadable(own_spoor, program)
    if "user" in kinds:
        try_as_root(own_spoor)


if __name__ == "__main__":
    if os.getuid() != 0:
        print("only root can install such programs")
        sys.exit(SKIP)
    tracer, given = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, given))
