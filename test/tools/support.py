"""Shared by the tests of the tools."""
import os
import subprocess

SOURCE, BUILD, SPOOR = (os.environ[name] for name in ("SOURCE", "BUILD", "SPOOR"))


def tool(name):
    return os.path.join(SOURCE, "tools", name)


def run(*command, **more):
    """Runs COMMAND; returns the finished process, with output as text."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, **more)


def write(directory, path, text):
    path = os.path.join(directory, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()
