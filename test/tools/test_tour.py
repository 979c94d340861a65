"""The README's tour works as it is printed."""
import os
import re
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

    def run_all(self, commands, folder):
        """Lines that have no figures must be printed, in this order."""
        environment = dict(os.environ)
        for command, lines in commands:
            if command.startswith("PATH="):
                environment["PATH"] = f"{folder}/build:{environment['PATH']}"
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
