"""--help, manual pages and completion, which are made from the option table, agree, and have the contract's options."""
import os
import re
import shutil
import unittest

from support import BUILD, SOURCE, SPOOR, read, run

MAN = os.path.join(BUILD, "man")
HERE = os.path.dirname(os.path.abspath(__file__))


def commands():
    """The commands that `spoor --help` lists."""
    section = run(SPOOR, "--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in section.splitlines() if re.match(r"  \w", line)]


def help_options(command):
    """{name: letter or ''} that `spoor COMMAND --help` lists."""
    text = run(SPOOR, command, "--help").stdout
    return {m[2]: m[1] or "" for m in re.finditer(r"(?m)^ +(?:-(\w), )?--([a-z-]+)", text)}


def man_options(command):
    page = read(os.path.join(MAN, f"spoor-{command}.1"))
    head = re.compile(r"(?m)^\.TP\n(?:\\fB\\-(\w)\\fR, )?\\fB\\-\\-([a-z\\-]+)\\fR")
    return {m[2].replace("\\", ""): m[1] or "" for m in head.finditer(page)}


def complete(*words):
    """The completions that bash offers for the last of WORDS. "=" is a word of its own, as in bash."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = (f"source '{MAN}/spoor'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _spoor; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    return run("bash", "-c", script).stdout.split()


def complete_in_zsh(*lines):
    """The completions that zsh offers behind each of LINES."""
    printed = run("zsh", "-f", os.path.join(HERE, "completions.zsh"), MAN, *lines).stdout
    return [offers.split() for offers in printed.split("=\n")[:-1]]


class Documents(unittest.TestCase):
    def test_options_of_the_contract(self):
        for line in read(os.path.join(HERE, "contract.txt")).splitlines():
            if line and not line.startswith("#"):
                command, letter, name = line.split()
                options = help_options(command)
                self.assertIn(name, options, line)
                if letter != "-":
                    self.assertEqual(options[name], letter, line)

    def test_options_of_manual_pages(self):
        self.assertEqual(len(commands()), 15)
        for command in commands():
            self.assertEqual(man_options(command), help_options(command), command)

    def test_commands_of_the_main_page(self):
        page = read(os.path.join(MAN, "spoor.1"))
        self.assertEqual(re.findall(r"(?m)^\.BR spoor\\-(\w+) \(1\)$", page), commands())

    def test_summaries_of_help_and_pages(self):
        for command in commands():
            summary = re.search(r"(?m)^spoor \w+: (.*)\.$", run(SPOOR, command, "--help").stdout)[1]
            page = read(os.path.join(MAN, f"spoor-{command}.1"))
            self.assertIn(f"spoor\\-{command} \\- {summary}\n", page)

    def test_placeholders_and_groff(self):
        for name in ["spoor"] + [f"spoor-{command}" for command in commands()]:
            path = os.path.join(MAN, name + ".1")
            self.assertNotRegex(read(path), r"(?m)^@")
            if shutil.which("groff"):
                result = run("groff", "-man", "-Tutf8", "-ww", "-z", path)
                self.assertEqual((result.returncode, result.stderr), (0, ""), name)

    def test_refusals_on_the_explain_page(self):
        table = read(os.path.join(SOURCE, "src", "plan", "tier.c"))
        tags = re.findall(r'\[REFUSED_\w+\] = \{"([a-z-]+)"', table)
        page = read(os.path.join(MAN, "spoor-explain.1")).replace("\\-", "-")
        self.assertGreater(len(tags), 10)
        for tag in tags:
            self.assertRegex(page, rf"(?m)^\.TP\n\.B {tag}\n[A-Z].{{20,}}\.$")

    def test_width_of_help(self):
        for words in [["--help"]] + [[command, "--help"] for command in commands()]:
            for line in run(SPOOR, *words).stdout.splitlines():
                self.assertLess(len(line), 80, line)

    def test_completion(self):
        self.assertEqual(complete("spoor", "re"), ["record", "replay", "report"])
        for command in commands():
            offered = {word.rstrip("=").removeprefix("--") for word in complete("spoor", command, "--")}
            self.assertEqual(offered, set(help_options(command)), command)
        self.assertEqual(complete("spoor", "record", "--overflow", "=", "d"), ["drop"])
        self.assertEqual(complete("spoor", "record", "--overflow", "="), ["wait", "drop", "overwrite"])
        self.assertEqual(complete("spoor", "export", "-f", "c"), ["chrome", "csv", "callgrind", "ctf"])
        self.assertEqual(complete("spoor", "report", os.path.join(SOURCE, "READ")),
                         [os.path.join(SOURCE, "README.md")])
        for command in "attach", "detach", "ctl":
            self.assertIn(str(os.getpid()), complete("spoor", command, str(os.getpid())[:2]), command)
        self.assertEqual(complete("spoor", "ctl", "1", "s"), ["snapshot", "status", "stop"])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_completion_in_zsh(self):
        words, choices, actions, files, *processes = complete_in_zsh(
            "spoor re", "spoor record --overflow=", "spoor ctl 1 pa", f"spoor report {SOURCE}/READ",
            *(f"spoor {command} " for command in ("attach", "detach", "ctl")))
        self.assertEqual(words, ["record", "replay", "report"])
        self.assertEqual(choices, ["wait", "drop", "overwrite"])
        self.assertEqual(actions, ["pause"])
        self.assertIn("README.md", files)
        for offered in processes:
            self.assertTrue(offered and all(word.strip().isdigit() for word in offered), offered)
        for command, words in zip(commands(), complete_in_zsh(*(f"spoor {command} --" for command in commands()))):
            offered = {word.rstrip("=-").removeprefix("--") for word in words}
            self.assertEqual(offered, set(help_options(command)), command)


if __name__ == "__main__":
    unittest.main()
