"""The README's tour works as it is printed."""
import os
import re
import signal
import subprocess
import tempfile
import unittest

from support import SOURCE, SPOOR, read

UNSURE = re.compile(r"[0-9…]|more\)")


def tour():
    """(command, lines of output as printed) of each command of the tour."""
    section = read(os.path.join(SOURCE, "README.md")).split("## A tour", 1)[1].split("\n## ", 1)[0]
    for block in re.findall(r"(?s)\n```\n(.*?)```", section):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, *lines = part.splitlines()
            yield command, lines


class Tour(unittest.TestCase):
    def test_tour_as_printed(self):
        commands = list(tour())
        self.assertGreater(len(commands), 5)
        with tempfile.TemporaryDirectory() as folder:
            for name, path in [("tools", os.path.join(SOURCE, "tools")), ("build", os.path.dirname(SPOOR))]:
                os.symlink(path, os.path.join(folder, name))
            self.run_all(commands, folder)

    def serve(self, command, lines, folder, environment):
        """A server prints one address; ^C ends it."""
        environment = {**environment, "SSH_CONNECTION": "::1 1 ::1 22"}  # no browser
        with subprocess.Popen(command.split(), cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as server:
            address = server.stdout.readline().rstrip()
            server.send_signal(signal.SIGINT)
            self.assertEqual(server.communicate(timeout=60)[0], "")
        self.assertEqual(server.returncode, 0)
        self.assertEqual([re.sub(r":\d+/#[0-9a-f]{32}$", "", line) for line in (address, *lines)], 2 * ["http://127.0.0.1"])

    def run_all(self, commands, folder):
        """Lines that have no figures must be printed, in this order."""
        environment = dict(os.environ)
        for command, lines in commands:
            if command.startswith("PATH="):
                environment["PATH"] = f"{folder}/build:{environment['PATH']}"
                continue
            if command == "spoor view":
                self.serve(command, lines, folder, environment)
                continue
            done = subprocess.run(command, shell=True, cwd=folder, env=environment, text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, command + "\n" + done.stdout)
            printed = iter([line.split() for line in done.stdout.splitlines()])
            for line in lines:
                if not UNSURE.search(line) and line.split() not in printed:
                    self.fail(f"{command} does not print\n{line}\nat its place, but\n{done.stdout}")


if __name__ == "__main__":
    unittest.main()
