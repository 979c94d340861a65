"""Fetches Debian's packages for any architecture by apt-get. Nothing is installed. The emulated machines
of this folder are made of these packages.

Only the archive's address is taken from the host's apt. Lists and packages go to a directory of the
caller. Neither root nor `dpkg --add-architecture` is needed."""
import glob
import os
import re
import shutil
import subprocess
import tarfile

SOURCES = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
ARCHIVE = re.compile(r"(?m)^(?:URIs:|deb(?: +\[[^]]*\])?) *(http\S+)")


class Unavailable(Exception):
    """A package cannot be fetched; the text says why."""


def settings_of_host():
    """The host's settings for reaching archives (proxies), in the form of apt.conf."""
    dump = subprocess.run(["apt-config", "dump"], stdout=subprocess.PIPE, text=True, check=True)
    return re.findall(r'(?m)^Acquire::.* ".+";$', dump.stdout)


class Packages:
    """Packages of one architecture, fetched into the directory PLACE. MORE names one more suite of the
    archive, such as "backports", for packages that the host's release does not have."""

    def __init__(self, place, architecture, more=""):
        self.place = os.path.realpath(place)
        self.architecture, self.more = architecture, more
        self.config = os.path.join(self.place, "apt.conf")
        self.trouble = ""  # the error of update()

    def _configure(self):
        sources = next((path for path in SOURCES if os.path.exists(path)), None)
        if not sources or not shutil.which("apt-get"):
            raise Unavailable("there is no apt-get that knows Debian's archive")
        for folder in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.place, folder), exist_ok=True)
        with open(os.path.join(self.place, "status"), "w", encoding="utf-8"):
            pass  # nothing is installed
        lines = [*settings_of_host(),
                 f'APT::Architecture "{self.architecture}";',
                 f'APT::Architectures {{ "{self.architecture}"; }};',
                 'APT::Install-Recommends "false";',
                 'APT::Sandbox::User "root";',  # apt changes to no other user
                 'Acquire::Languages "none";',
                 'Acquire::Retries "2";',
                 'Debug::NoLocking "true";',
                 'Dir::Etc::parts "/dev/null";',
                 f'Dir::Etc::sourcelist "{sources}";',
                 f'Dir::Etc::sourceparts "{self._add_source(sources)}";',
                 f'Dir::State "{self.place}";',
                 f'Dir::State::status "{self.place}/status";',
                 f'Dir::Cache "{self.place}/cache";']
        with open(self.config, "w", encoding="utf-8") as config:
            config.write("\n".join(lines) + "\n")

    def _add_source(self, sources):
        """Writes the source of self.more. Returns the directory of the sources that apt reads besides SOURCES."""
        if not self.more:
            return "/dev/null"
        with open(sources, encoding="utf-8") as file, open("/etc/os-release", encoding="utf-8") as release:
            archive = ARCHIVE.search(file.read())
            suite = re.search(r"(?m)^VERSION_CODENAME=(\w+)", release.read())
        if not archive or not suite:
            raise Unavailable(f"{sources} names no archive of a release")
        folder = os.path.join(self.place, "sources")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "more.list"), "w", encoding="utf-8") as file:
            file.write(f"deb {archive[1]} {suite[1]}-{self.more} main\n")
        return folder

    def _apt(self, *command, cwd=None):
        done = subprocess.run(command, cwd=cwd or self.place, text=True, check=False,
                              env={**os.environ, "APT_CONFIG": self.config, "LC_ALL": "C"},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise Unavailable(f"{' '.join(command)}: {done.stderr.strip()}{self.trouble}")
        return done.stdout

    def update(self):
        """Fetches the lists of packages. Call it once, before the other methods. An error (a mirror that is
        being updated) is reported only if a package is missing later."""
        self._configure()
        try:
            self._apt("apt-get", "-q", "update")
        except Unavailable as why:
            self.trouble = f"\n(before that: {why})"

    def depended_on(self, name, pattern):
        """The package that NAME depends on and whose name matches PATTERN."""
        found = re.search(rf"Depends: ({pattern})", self._apt("apt-cache", "depends", name))
        if not found:
            raise Unavailable(f"{name} depends on no package that matches {pattern}")
        return found[1]

    def fetch_alone(self, name):
        """The path of the package NAME. Packages that it depends on are not fetched."""
        return self._fetched("apt-get", "-q", "download", name)[0]

    def fetch(self, names):
        """Paths of the packages NAMES and of all packages that they depend on."""
        return self._fetched("apt-get", "-q", "-y", "--download-only", "install", *names)

    def _fetched(self, *command):
        archives = os.path.join(self.place, "cache", "archives")
        for old in glob.glob(os.path.join(archives, "*.deb")):
            os.remove(old)
        self._apt(*command, cwd=archives)
        found = sorted(glob.glob(os.path.join(archives, "*.deb")))
        if not found:
            raise Unavailable(f"{' '.join(command)} fetched no package")
        return found

    def remove_traces(self):
        """Removes lists and packages: they are large."""
        for folder in ("lists", "cache"):
            shutil.rmtree(os.path.join(self.place, folder), ignore_errors=True)


def contents(archive):
    """The files of a package as (tarfile.TarInfo, bytes or None), in the package's order."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as unpack:
        with tarfile.open(fileobj=unpack.stdout, mode="r|") as files:
            for item in files:
                yield item, files.extractfile(item).read() if item.isreg() else None
    if unpack.returncode:
        raise Unavailable(f"{archive} cannot be unpacked")
