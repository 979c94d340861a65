#!/usr/bin/env python3
"""A shell with job control sees the same of spoor as of the untraced program. spoor stops when the program stops, by
the same signal, continues with it, and does not stop if the program does not.

    shell.py SPOOR PROGRAM
"""
import fcntl
import os
import pty
import signal
import sys
import termios

from fault import Failure, Spoor, check, main

PATIENCE_S = 30


class Shell:
    """A session leader (this process, forked) with a terminal and one foreground job. The program writes to a
    pipe."""

    def __init__(self, command):
        self.master, terminal = pty.openpty()
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        self.terminal = terminal
        self.text, self.read, output = b"", 0, os.pipe()
        self.output = output[0]
        self.job = os.fork()
        if self.job == 0:
            self.become(command, terminal, output[1])
        os.close(output[1])
        try:
            os.setpgid(self.job, self.job)
        except PermissionError:
            pass  # the child has set its group itself and has executed its program

    @staticmethod
    def become(command, terminal, output):
        os.setpgid(0, 0)
        os.tcsetpgrp(terminal, os.getpid())
        for sig in signal.SIGTTOU, signal.SIGTSTP, signal.SIGTTIN, signal.SIGCONT:
            signal.signal(sig, signal.SIG_DFL)
        os.dup2(terminal, 0)
        os.dup2(output, 1)
        os.execv(command[0], command)

    def type(self, data):
        os.write(self.master, data)

    def expect(self, line):
        """Waits until the program has written LINE once more."""
        while (at := self.text.find(line.encode() + b"\n", self.read)) < 0:
            data = os.read(self.output, 4096)
            check(data, f"the output ends before '{line}': {self.text}")
            self.text += data
        self.read = at + len(line) + 1

    def wait(self):
        _, status = os.waitpid(self.job, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.tcsetpgrp(self.terminal, os.getpid())
            return f"stopped by {signal.Signals(os.WSTOPSIG(status)).name}"
        return f"ended with {os.waitstatus_to_exitcode(status)}"

    def continue_job(self, whole_group):
        os.tcsetpgrp(self.terminal, self.job)
        os.kill(-self.job if whole_group else self.job, signal.SIGCONT)
        self.expect("continued")


def suspend(shell, log):
    """^Z stops the job, again and again. The program also stops its own process group."""
    for key, whole_group in (b"\x1a", True), (b"group\n", True), (b"\x1a", False), (b"\x1a", True):
        shell.type(key)
        log.append(shell.wait())
        shell.continue_job(whole_group)


def handle(shell, log):
    """The program handles the signal before it stops."""
    for _ in range(3):
        shell.type(b"\x1a")
        shell.expect("tidied")
        log.append(shell.wait())
        shell.continue_job(True)
        shell.expect("back")


def ignore(shell, log):
    """The program ignores ^Z. The terminal discards earlier input."""
    del log
    for _ in range(3):
        shell.type(b"\x1a")


SCENARIOS = {"default": suspend, "handle": handle, "ignore": ignore}


def play(command, way):
    """Plays one of SCENARIOS in this process, which becomes a shell. Returns the log and the program's output."""
    signal.alarm(PATIENCE_S)
    shell, log = Shell([*command, way]), []
    try:
        shell.expect("ready")
        SCENARIOS[way](shell, log)
        shell.type(b"end\n")
        log.append(shell.wait())
        shell.expect("right")
        return "\n".join([*log, shell.text.decode()])
    finally:
        os.killpg(shell.job, signal.SIGKILL) if not log or "ended" not in log[-1] else None


def play_in_child(command, way):
    """Calls play() in a forked process; returns its text."""
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(ends[1], play(command, way).encode())
            os._exit(0)
        except (Failure, OSError) as failure:
            os.write(ends[1], str(failure).encode())
            os._exit(1)
    os.close(ends[1])
    _, status = os.waitpid(pid, 0)
    with os.fdopen(ends[0], "rb") as child_output:
        text = child_output.read().decode()
    check(status == 0, f"{way}: {command[0]}: status {status}: {text}")
    return text


def test(spoor, program):
    for way in SCENARIOS:
        alone = play_in_child([program], way)
        for options in [], ["-M", "*"]:
            traced = play_in_child([*spoor.command(options, [program])], way)
            check(traced == alone, f"{way}: traced:\n{traced}\nalone:\n{alone}")
            check(spoor.info()["status"] == 42, f"{way}: the trace is not complete")


if __name__ == "__main__":
    tracer, given = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, given))
