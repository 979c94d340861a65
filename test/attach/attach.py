"""Shared by the tests in this folder: running a program, comparing its memory, attaching spoor to it."""
import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trace"))
# pylint: disable=wrong-import-position
from harness import FEW_ROUNDS, SKIP, TIMEOUT, Failure, Spoor, check, check_lossless, main, rounds, run  # noqa: E402,F401


def code_of(pid):
    """The executable maps of process PID, each with a digest of its bytes."""
    digest, lines = hashlib.sha256(), []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            fields = line.split()
            if "x" not in fields[1] or line.endswith(("[vsyscall]\n", "[vectors]\n")):
                continue
            start, end = (int(word, 16) for word in fields[0].split("-"))
            memory.seek(start)
            digest.update(memory.read(end - start))
            lines.append(line)
    return "".join(lines) + digest.hexdigest()


def private_text(pid):
    """KB of file-backed code of which process PID has private copies."""
    total, is_code = 0, False
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as smaps:
        for line in smaps:
            fields = line.split()
            if "-" in fields[0]:
                is_code = fields[1] == "r-xp" and fields[-1].startswith("/")
            elif is_code and fields[0] == "Anonymous:":
                total += int(fields[1])
    return total


def shows_its_files(pid):
    """Whether the mapped files of process PID can be identified: by /proc/PID/map_files, or by their inode
    numbers (some file systems show other numbers in maps)."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        place, _, _, device, inode, path = maps.readline().split()
    file, (major, minor) = os.stat(path), (int(number, 16) for number in device.split(":"))
    start, end = (f"{int(number, 16):x}" for number in place.split("-"))
    return (os.access(f"/proc/{pid}/map_files/{start}-{end}", os.R_OK) or
            (file.st_dev, file.st_ino) == (os.makedev(major, minor), int(inode)))


def threads_of(pid):
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


def states_of(pid):
    """The states of the threads, in the letters of ps."""
    found = set()
    for tid in threads_of(pid):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as stat:
            found.add(stat.read().rsplit(")", 1)[1].split()[0])
    return found


def signs_of_spoor(pid):
    """Traces that spoor has left in process PID."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        found = [line for line in maps if "spoor (deleted)" in line or "memfd:spoor" in line]
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return found + [line for line in status if line.startswith("TracerPid:") and
                        line.split()[1] != "0"]


def leave_processors():
    os.nice(19)


@contextlib.contextmanager
def running(command, reports=""):
    """Runs COMMAND until the caller is done; then COMMAND must exit with status 0. It prints "ready" first. Lines
    before that which match REPORTS become process.reported. If it says that it cannot run here, the test is skipped.
    In an emulated machine it leaves the processors to spoor, which would otherwise wait for them most of the time."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          preexec_fn=leave_processors if FEW_ROUNDS else None) as process:
        try:
            line = process.stdout.readline()
            if line == b"cannot\n":
                print(f"{command[0]}: this machine lacks what the program needs")
                sys.exit(SKIP)
            check(line == b"ready\n", f"{command[0]}: is not ready: {line}")
            yield process
            out, _ = process.communicate(timeout=TIMEOUT)
            process.reported = re.fullmatch(reports + "right\n", out.decode())
            check(process.reported and process.returncode == 0,
                  f"{' '.join(command[:2])}: ended with {process.returncode}: {out.decode()}")
        except subprocess.TimeoutExpired as late:
            raise Failure(f"{command[0]}: does not end") from late
        except Failure as failure:
            if process.poll() is None:
                raise
            out = b"" if process.stdout.closed else process.stdout.read()
            raise Failure(f"{' '.join(command[:2])}: ended with {process.returncode}, and printed "
                          f"{out.decode()!r}: {failure}") from failure
        except ProcessLookupError as gone:
            out, _ = process.communicate(timeout=TIMEOUT)
            raise Failure(f"{' '.join(command[:2])}: ended with {process.returncode}: {out.decode()}") from gone
        finally:
            process.kill()


def attach(spoor, pid, *options, trace="trace"):
    return run([spoor.path, "attach", "-o", trace, *options, str(pid)])


def attach_for(spoor, pid, duration, *options, trace="trace"):
    """Attaches for DURATION; returns info --json."""
    done = attach(spoor, pid, f"--duration={duration}", *options, trace=trace)
    check(done.status == 0, f"attach ended with {done.status}: {done.stderr.decode()}")
    return spoor.json("info", "--json", trace)


def attach_until_seen(spoor, pid, *options, events=100):
    """Attaches until there are EVENTS entries, however busy the machine is; returns info --json."""
    return attach_for(spoor, pid, f"{TIMEOUT / 2}s", f"--events={events}", *options)


def check_left(pid, before):
    """Process PID has the code that it had BEFORE, and spoor has left nothing in it."""
    found = signs_of_spoor(pid)
    check(not found, f"left in the process: {found}")
    check(code_of(pid) == before, f"its code has changed:\n{before}\n{code_of(pid)}")


def ends_by_signal(spoor, pid, number, *options):
    """Attaches, and ends spoor by signal NUMBER once it records."""
    command = [spoor.path, "attach", "-v", "-o", "trace", *options, str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while not signs_of_spoor(pid):
            check(process.poll() is None, f"attach ended: {process.returncode}")
        process.send_signal(number)
        _, stderr = process.communicate(timeout=TIMEOUT)
    check(process.returncode == 0, f"{signal.Signals(number).name}: status {process.returncode}: {stderr}")
