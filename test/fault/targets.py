#!/usr/bin/env python3
"""Which processes can be attached to. For other processes spoor says in one line why not, and does not change them.
Processes in containers, or with removed files, can be traced.

    targets.py SPOOR PROGRAM LIBRARY

PROGRAM is programs/attach_target.c.
"""
import contextlib
import json
import os
import platform
import shutil
import signal
import struct
import subprocess
import sys
import time

from fault import Spoor, check, check_right, main, run, stderr_of
from harness import Outcome, check_same
from refused import EPERM, forbid
from rights import NOBODY, become_nobody
from sandboxes import sees_filters

PATIENCE_S = 60
ABSENT = 2**31 - 17  # above pid_max
# {machine in uname: (a system call's number, programs that spoor traces, a program of another kind that the kernel may
# run: ELF machine, flags, code "1: pause(); goto 1b")}. A 32-bit Arm kernel runs no other kind.
PIVOT_ROOT, PROGRAMS, NARROW = {
    "x86_64": (155, "64-bit x86", (3, 0, b"\xb8\x1d\0\0\0\xcd\x80\xeb\xf7")),
    "aarch64": (41, "AArch64", (40, 0x5000000, struct.pack("<3I", 0xe3a0701d, 0xef000000, 0xeafffffc))),
}.get(platform.machine(), (218, None, None))
ROOT = os.getuid() == 0


def state(pid):
    """The visible state of a process: its maps, its tracer, whether it is stopped."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        lines = [line for line in maps if "[heap]" not in line]
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        lines += [line for line in status if line.startswith("TracerPid")]
    return lines


@contextlib.contextmanager
def running_target(command, **how):
    """Runs a process and yields its ID. The process must end right."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how) as process:
        try:
            words = process.stdout.readline().split()
            check(words, f"{command}: does not begin")
            yield int(words[0])
            os.kill(int(words[0]), signal.SIGTERM)
            out, err = process.communicate(timeout=PATIENCE_S)
            check_right(Outcome(out, err, process.returncode), " ".join(command))
        finally:
            process.kill()


def check_refused(spoor, pid, text, **how):
    done = run([spoor.path, "attach", "-o", "refused", "--duration=5s", str(pid)], **how)
    check(done.status == 1 and not done.stdout, f"{pid}: {done.status}, {done.stdout!r}: {stderr_of(done)}")
    check(stderr_of(done).startswith("spoor: ") and stderr_of(done).count("\n") == 1 and text in stderr_of(done),
          f"{pid}: no message '{text}': {stderr_of(done)}")
    check(not os.path.exists("refused") and not os.path.exists("refused.part"), "a trace is left")


def check_untouched(spoor, pid, text, **how):
    before = state(pid)
    check_refused(spoor, pid, text, **how)
    check_same(f"{text}: the process", before, state(pid))


def check_traced(spoor, pid, function="library_add", **how):
    """Attaches until calls are recorded; returns FUNCTION's row of the report."""
    command = [spoor.path, "attach", "-q", "-o", "trace", "-M", "*", "-F", "library_add", "--events=20", "--duration=60s",
               str(pid)]
    if os.path.exists("trace"):
        os.unlink("trace")
    done = run(command, **how)
    check(done.status == 0 and not stderr_of(done), f"attach: {done.status}: {stderr_of(done)}")
    rows = [row for row in spoor.report() if row["function"] == function]
    check(len(rows) == 1 and rows[0]["calls"] >= 5, f"{function}: {rows}")
    return rows[0]


def test_what_is_none(spoor, program, library):
    check_refused(spoor, ABSENT, "there is no such process")
    with open("/proc/2/comm", encoding="ascii") as name:
        if name.read() == "kthreadd\n":
            check_refused(spoor, 2, "is a kernel thread")
    with subprocess.Popen(["true"]) as process:
        while " Z " not in open(f"/proc/{process.pid}/stat", encoding="ascii").read():
            time.sleep(0.01)
        check_refused(spoor, process.pid, "has ended")
    with running_target([program, "plain", library]) as pid:
        thread = next(int(tid) for tid in os.listdir(f"/proc/{pid}/task") if int(tid) != pid)
        check_refused(spoor, thread, f"is a thread of process {pid} (")


def write_narrow(name):
    """Writes a 32-bit program that waits for ever."""
    machine, flags, code = NARROW
    base, headers = 0x8048000, 52 + 32
    whole = headers + len(code)
    with open(name, "wb") as file:
        file.write(struct.pack("<16s2H5I6H", b"\x7fELF\x01\x01\x01", 2, machine, 1, base + headers, 52, 0, flags, 52, 32, 1, 0, 0, 0))
        file.write(struct.pack("<8I", 1, 0, base, base, whole, whole, 5, 4096) + code)
    os.chmod(name, 0o755)


def test_narrow(spoor, *_):
    if not NARROW:
        return
    write_narrow("narrow")
    try:
        process = subprocess.Popen(["./narrow"])  # pylint: disable=consider-using-with
    except OSError:
        return  # this kernel runs no 32-bit programs
    try:
        while " S " not in open(f"/proc/{process.pid}/stat", encoding="ascii").read():
            time.sleep(0.01)  # until the exec is done
        check_untouched(spoor, process.pid, f"is not a {PROGRAMS} program: spoor traces no others here")
        check(process.poll() is None, f"the program has ended with {process.returncode}")
    finally:
        process.kill()
        process.wait()


def test_tracers(spoor, program, library):
    """Processes that another spoor has attached to or records."""
    with running_target([program, "plain", library]) as pid:
        attach = [spoor.path, "attach", "-q", "-o", "other", "-M", "*", str(pid)]
        with subprocess.Popen(attach) as other:
            while not os.path.exists("other.part") or state(pid)[-1].endswith("\t0\n") or \
                    "memfd:spoor" not in "".join(state(pid)):
                time.sleep(0.01)
            check_refused(spoor, pid, f"'kill {other.pid}' detaches it")
            other.terminate()
            check(other.wait(PATIENCE_S) == 0, "the other spoor failed")
        check_traced(spoor, pid)
    with running_target([spoor.path, "record", "-q", "-o", "other", "--", program, "plain", library]) as pid:
        check_refused(spoor, pid, "records it")


def test_others(spoor, program, library):
    """Processes of other users, and processes that are not dumpable."""
    if not ROOT:
        return
    nobody = {"preexec_fn": become_nobody, "cwd": "open"}
    with running_target([program, "plain", library]) as pid:
        check_untouched(spoor, pid, "it is another user's (uid 0): run spoor as root", **nobody)
    with running_target([program, "hides", library], **nobody) as pid:
        check_untouched(spoor, pid, "it is not dumpable", **nobody)
        check_traced(spoor, pid)


def test_sandboxes(spoor, program, library):
    with running_target([program, "fenced", library]) as pid:
        check_untouched(spoor, pid, "its seccomp sandbox")
    with running_target([program, "strict", library]) as pid:
        check_untouched(spoor, pid, "its seccomp sandbox")
    with running_target([program, "loose", library]) as pid:
        if sees_filters():
            check_traced(spoor, pid)
        else:
            check_untouched(spoor, pid, "its seccomp sandbox may forbid")


def test_spoor_in_a_sandbox(spoor, program, library):
    """In a sandbox spoor cannot read the filters of a process, unless it has started the process."""
    outside = os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"
    in_sandbox = {"preexec_fn": forbid([PIVOT_ROOT], EPERM)}
    with running_target([program, "fenced", library]) as pid:
        if outside:
            check_untouched(spoor, pid, "its seccomp sandbox may forbid", **in_sandbox)
    with running_target([program, "plain", library]) as pid:
        check_traced(spoor, pid, **in_sandbox)


def explained(spoor, pid, module, **how):
    done = run([spoor.path, "explain", "--json", str(pid)], **how)
    check(done.status == 0, f"explain: {stderr_of(done)}")
    return [f["function"] for f in json.loads(done.stdout) if f["module"] == module]


def test_files(spoor, program, library):
    """The files of the program and of a library are removed while they are in use."""
    for kind, name in ("plain", "loaded.so"), ("late", "loaded.so"):
        shutil.copy(program, "running")
        shutil.copy(library, name)
        with running_target([os.path.realpath("running"), kind, os.path.realpath(name)]) as pid:
            os.unlink("running")
            os.unlink(name)
            row = check_traced(spoor, pid) if ROOT or kind == "plain" else {"module": name}
            check(row["module"] == name, f"{kind}: {row}")
            check("library_add" in explained(spoor, pid, name), "explain does not know library_add")
            check("call_once" in explained(spoor, pid, "running"), "explain does not know call_once")
    as_nobody = {"preexec_fn": become_nobody, "cwd": "open"} if ROOT else {}
    with running_target([program, "gone", library], **as_nobody) as pid:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            name = [line for line in maps if "spoor-gone" in line][0].split()[5].split("/")[-1]
        check("library_add" in explained(spoor, pid, name, **as_nobody), "no library_add in memory")
        check_traced(spoor, pid)
        if ROOT:
            shutil.move("trace", "root")
            done = run([spoor.path, "attach", "-q", "-M", "*", "--events=20", "--duration=60s", str(pid)],
                       **as_nobody)
            check(done.status == 0, stderr_of(done))
            names = {row["function"] for row in spoor.report("open/spoor.trace")}
            check("library_add" in names, f"{names}")


def test_containers(spoor, program, library):
    """A process in other namespaces has other files and IDs."""
    inside = "mount -t tmpfs none /mnt && cp $0 /mnt/inner && cp $1 /mnt/inner.so && exec /mnt/inner plain /mnt/inner.so"
    command = ["unshare", "-mpf", "--mount-proc", "sh", "-c", inside, program, library]
    if not ROOT or run(["unshare", "-mpf", "--mount-proc", "mount", "-t", "tmpfs", "none", "/mnt"]).status:
        return
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            check(process.stdout.readline() == b"1\n", "the program is not the first process")
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
                pid = int(children.read())
            row = check_traced(spoor, pid)
            check(row["module"] == "inner.so", f"{row}")
            tids = {item["tid"] for item in spoor.replay()}
            check(tids == {pid}, f"threads {tids} are recorded, not {pid}")
            os.kill(pid, signal.SIGTERM)
            check(process.stdout.read() == b"right\n" and process.wait(PATIENCE_S) == 42, "the program fails")
        finally:
            process.kill()


def test(spoor, program, library):
    os.chmod(".", 0o755)
    os.mkdir("open")
    if ROOT:
        os.chown("open", NOBODY, NOBODY)
        for name in spoor.path, program, library:
            shutil.copy(name, ".")
        spoor.path = os.path.realpath("spoor")
        program, library = (os.path.realpath(os.path.basename(name)) for name in (program, library))
    for one in (test_what_is_none, test_narrow, test_tracers, test_others, test_sandboxes,
                test_spoor_in_a_sandbox, test_files,
                test_containers):
        one(spoor, program, library)


if __name__ == "__main__":
    tracer, given = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:4]]
    main(lambda: test(tracer, *given))
