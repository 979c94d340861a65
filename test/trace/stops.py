#!/usr/bin/env python3
"""Stop and continue, ^C, and signals sent to spoor: the program gets the same signals as untraced.

    stops.py SPOOR PROGRAM
"""
import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

from harness import Failure, Spoor, check, check_lossless, main

PATIENCE_S = 20


class Session:
    """The program in a new session, under spoor if given. This test has the master of its terminal."""

    def __init__(self, command):
        self.master, terminal = pty.openpty()
        modes = termios.tcgetattr(terminal)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, modes)
        self.process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal,
                                        start_new_session=True, preexec_fn=self.take_terminal)
        os.close(terminal)
        self.text = ""
        self.pid = int(self.wait_for("ready ").split()[1])

    @staticmethod
    def take_terminal():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def wait_for(self, start):
        """The next line that begins with START."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            for line in self.text.splitlines(keepends=True):
                if line.startswith(start) and line.endswith("\n"):
                    self.text = self.text.split(line, 1)[1]
                    return line.strip()
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise Failure(f"no line '{start}'; output: {self.text}")
            try:
                self.text += os.read(self.master, 4096).decode()
            except OSError as error:
                raise Failure(f"ended before '{start}': {self.text}") from error

    def state(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]

    def wait_for_state(self, states):
        deadline = time.monotonic() + PATIENCE_S
        while self.state() not in states:
            check(time.monotonic() < deadline, f"state is {self.state()}, not one of {states}")
            time.sleep(0.005)

    def cpu_ticks(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])

    def wait_until_idle(self):
        """Waits until the program uses no more processor time: a tracer may let it run on briefly after a stop."""
        deadline, before = time.monotonic() + PATIENCE_S, None
        while before != (before := self.cpu_ticks()):
            check(time.monotonic() < deadline, "runs although it is stopped")
            time.sleep(0.05)

    def close(self):
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            os.kill(self.pid, signal.SIGKILL)
            raise Failure("does not end") from None
        finally:
            os.close(self.master)


def stop_and_go(session, times):
    for number in range(1, times + 1):
        os.kill(session.pid, signal.SIGSTOP)
        session.wait_for_state("Tt")
        session.wait_until_idle()
        os.kill(session.pid, signal.SIGCONT)
        line = session.wait_for("continued")
        check(line == f"continued {number} interrupted 0", f"after stop {number}: {line}")


def interrupt_by_terminal(session):
    for number in 1, 2:
        os.write(session.master, b"\x03")
        session.wait_for("continued" if number == 1 else "done 1")


def interrupt_spoor(session):
    """spoor forwards SIGTERM and SIGHUP. A second one ends the program."""
    for number in signal.SIGTERM, signal.SIGHUP:
        os.kill(session.process.pid, number)
        session.wait_for("continued" if number == signal.SIGTERM else "done 1")


def scenario(spoor, command, *steps):
    traced = Session(spoor.command([], command))
    try:
        for step in steps:
            step(traced)
    except Failure:
        os.kill(traced.pid, signal.SIGKILL)
        raise
    check(traced.close() == 9, f"spoor's status is {traced.process.returncode} instead of 9")
    check_lossless(spoor.info())


def test(spoor, program):
    alone = Session([program])
    stop_and_go(alone, 4)
    interrupt_by_terminal(alone)
    check(alone.close() == 9, "untraced, its status is wrong")
    scenario(spoor, [program], lambda s: stop_and_go(s, 10), interrupt_by_terminal)
    scenario(spoor, [program], interrupt_spoor)


if __name__ == "__main__":
    tracer, traced_program = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced_program))
