"""Builds a kernel of Debian's source with options that no kernel package has. Takes some minutes, once."""
import os
import shutil
import subprocess
import tempfile

import debian

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = r"linux-source-\d\S*"
TOOLS = ("make", "bc", "bison", "flex", "tar", "xz")


def unpack(archive, folder):
    """Unpacks the .tar.xz in the package ARCHIVE to FOLDER. Returns the folder with the source."""
    for item, data in debian.contents(archive):
        if item.name.endswith(".tar.xz"):
            subprocess.run(["tar", "xJ", "-C", folder], input=data, check=True)
    return os.path.join(folder, os.listdir(folder)[0])


def missing(source, config):
    """Lines of CONFIG that are not in the source's .config."""
    with open(os.path.join(source, ".config"), encoding="utf-8") as file, open(config, encoding="utf-8") as wanted:
        there = set(file.read().splitlines())
        return [line for line in wanted.read().splitlines() if line.startswith("CONFIG") and line not in there]


def make(source, target, *words):
    command = ["make", "-s", f"-j{os.cpu_count()}", "-C", source, *words, target]
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, check=False, env=own)  # own: without flags of a make around this test
    if done.returncode:
        raise debian.Unavailable(f"{' '.join(command)}: {done.stderr[-2000:]}")


def build(packages, config, architecture, prefix, path):
    """Builds a kernel with the configuration file CONFIG of this folder. Writes its image to PATH."""
    lacking = [tool for tool in (*TOOLS, f"{prefix}gcc") if not shutil.which(tool)]
    if lacking:
        raise debian.Unavailable(f"to build a kernel these tools are missing: {', '.join(lacking)}")
    config = os.path.join(HERE, config)
    words = f"ARCH={architecture}", f"CROSS_COMPILE={prefix}"
    archive = packages.fetch_alone(packages.depended_on("linux-source", SOURCE))
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        source = unpack(archive, folder)
        make(source, "allnoconfig", *words, f"KCONFIG_ALLCONFIG={config}")
        if missing(source, config):
            raise debian.Unavailable("the kernel's source has no " + ", ".join(missing(source, config)))
        make(source, "Image", *words)
        shutil.copy(os.path.join(source, "arch", architecture, "boot", "Image"), path + ".part")
    os.replace(path + ".part", path)
