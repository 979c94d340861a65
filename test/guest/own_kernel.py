"""A kernel of Debian's source, for what no kernel of Debian's has. It is built once, in some minutes."""
import os
import shutil
import subprocess
import tempfile

import debian

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = r"linux-source-\d\S*"
TOOLS = ("make", "bc", "bison", "flex", "tar", "xz")


def unpack(archive, folder):
    """The folder with the source, of a package that has it as one archive."""
    for item, data in debian.contents(archive):
        if item.name.endswith(".tar.xz"):
            subprocess.run(["tar", "xJ", "-C", folder], input=data, check=True)
    return os.path.join(folder, os.listdir(folder)[0])


def missing(source, config):
    """What of the options in CONFIG the source's own have not become."""
    with open(os.path.join(source, ".config"), encoding="utf-8") as file, open(config, encoding="utf-8") as wanted:
        there = set(file.read().splitlines())
        return [line for line in wanted.read().splitlines() if line.startswith("CONFIG") and line not in there]


def make(source, target, *words):
    command = ["make", "-s", f"-j{os.cpu_count()}", "-C", source, *words, target]
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, check=False, env=own) # not with what the caller's make was told
    if done.returncode:
        raise debian.Unavailable(f"{' '.join(command)}: {done.stderr[-2000:]}")


def build(packages, config, architecture, prefix, path):
    """Makes PATH of the file CONFIG of this folder."""
    lacking = [tool for tool in (*TOOLS, f"{prefix}gcc") if not shutil.which(tool)]
    if lacking:
        raise debian.Unavailable(f"to build a kernel there is no {', '.join(lacking)}")
    config = os.path.join(HERE, config)
    words = f"ARCH={architecture}", f"CROSS_COMPILE={prefix}"
    archive = packages.fetch_alone(packages.depended_on("linux-source", SOURCE))
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        source = unpack(archive, folder)
        make(source, "allnoconfig", *words, f"KCONFIG_ALLCONFIG={config}")
        if missing(source, config):
            raise debian.Unavailable("the kernel's source knows no " + ", ".join(missing(source, config)))
        make(source, "Image", *words)
        shutil.copy(os.path.join(source, "arch", architecture, "boot", "Image"), path + ".part")
    os.replace(path + ".part", path)
