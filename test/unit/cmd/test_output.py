"""Outputs of views: full disks, closed pipes, files, terminals, pagers.

test_output.py WRITER SPOOR
"""
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

writer, spoor = (os.path.abspath(path) for path in sys.argv[1:])
NO_SPACE = "No space left on device\n"


def write_trace(path, calls):
    lines = ["process 9 prog", "function main", "function leaf_" + "ä" * 100, "module prog",
             "thread 9 9 prog", "0 0 enter 1 1f000"]
    for i in range(calls):
        lines += [f"{100 * i + 10} 0 enter 2 1ef00", f"{100 * i + 20} 0 return 2 1ef00"]
    lines.append(f"{100 * calls + 900000} 0 return 1 1f000")
    subprocess.run([writer, path], input="\n".join(lines) + "\n", text=True, check=True)


def run(*arguments, **more):
    done = subprocess.run([spoor, *arguments], stderr=subprocess.PIPE, text=True, check=False, **more)
    return done.returncode, done.stderr


def full_disks_are_reported(trace):
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert run("replay", trace, stdout=full) == (1, "spoor: standard output: " + NO_SPACE)
        assert run("export", trace, stdout=full) == (1, "spoor: standard output: " + NO_SPACE)
    for form in ("callgrind", "perfetto", "pprof"):
        with open("/dev/full", "w", encoding="utf-8") as full:
            assert run("export", "--format=" + form, trace, stdout=full) == (1, "spoor: standard output: " + NO_SPACE)
    assert run("export", "-o/dev/full", trace) == (1, "spoor: /dev/full: " + NO_SPACE)


def a_reader_that_goes_away_ends_views_quietly(trace):
    for ignored in (signal.SIG_DFL, signal.SIG_IGN):
        reader, pipe = os.pipe()
        os.close(reader)
        # restore_signals would set SIGPIPE back to its default
        for command in (["replay"], *(["export", "--format=" + form] for form in ("callgrind", "perfetto", "pprof"))):
            result = run(*command, trace, stdout=pipe, restore_signals=False,
                         preexec_fn=lambda: signal.signal(signal.SIGPIPE, ignored))
            assert result == (-signal.SIGPIPE, ""), (command, result)
        os.close(pipe)


def files_appear_when_complete(trace, directory):
    out = os.path.join(directory, "out.csv")
    assert run("export", "--format=csv", "-o", out, trace) == (0, "")
    with open(out, encoding="utf-8") as file:
        assert file.read().count("\n") == 102
    assert not os.path.exists(out + ".part")
    status, stderr = run("export", "-o", trace, trace)
    assert status == 1 and "is the trace itself" in stderr
    status, stderr = run("export", "-o", os.path.join(directory, "no", "file"), trace)
    assert status == 1 and "No such file or directory" in stderr


def interrupted_export_leaves_nothing(directory):
    trace, out = os.path.join(directory, "long"), os.path.join(directory, "out.json")
    for calls in 2 * [200000] + 10 * [1000000]:
        write_trace(trace, calls)
        with subprocess.Popen([spoor, "export", "-o", out, trace]) as process:
            while not os.path.exists(out + ".part") and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGINT)
        if process.returncode:
            break  # otherwise the export was faster than the signal
    assert process.returncode == -signal.SIGINT
    assert not os.path.exists(out + ".part")


def on_terminal(trace, *options, columns=50, **environment):
    """The output of a replay on a terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 20, columns, 0, 0))
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "PAGER", "LESS")}
    chunks = []
    with subprocess.Popen([spoor, "replay", *options, trace], stdout=slave, stdin=slave,
                          env={**clean, "TERM": "xterm", **environment}) as process:
        os.close(slave)
        try:
            while chunk := os.read(master, 65536):
                chunks.append(chunk)
        except OSError:  # the end of a terminal's output
            pass
    os.close(master)
    assert process.returncode == 0
    return b"".join(chunks).decode().replace("\r\n", "\n")


def terminals_get_colour_width_and_pager(trace):
    plain = on_terminal(trace, PAGER="cat", NO_COLOR="1").splitlines()
    assert max(map(len, plain)) == 50 and all("\033" not in line for line in plain)
    assert sum("ä…ä" in line and line.endswith("ä();") for line in plain) == 100
    assert "\033[33m" in on_terminal(trace, "--no-pager")
    assert "\033" not in on_terminal(trace, "--color=never", "--no-pager")
    assert "\033" not in on_terminal(trace, "--no-pager", TERM="dumb")
    paged = on_terminal(trace, PAGER="sed s/^/page:/", NO_COLOR="1").splitlines()
    assert paged == ["page:" + line for line in plain]
    assert on_terminal(trace, PATH="/nonexistent", NO_COLOR="1").splitlines() == plain


with tempfile.TemporaryDirectory() as scratch:
    small = os.path.join(scratch, "small")
    write_trace(small, 100)
    full_disks_are_reported(small)
    a_reader_that_goes_away_ends_views_quietly(small)
    files_appear_when_complete(small, scratch)
    interrupted_export_leaves_nothing(scratch)
    terminals_get_colour_width_and_pager(small)
