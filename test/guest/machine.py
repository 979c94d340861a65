"""Machines that QEMU emulates. Their kernel and file system come from Debian's packages. Neither root nor
KVM nor a disk image is needed.

    guest = Guest("arm64", cache)           fetched once, kept in the directory cache
    guest.add("/path/of/program")           files of the host
    guest.job("name", [("alone", ["/path/of/program", "argument"])])
    guest.boot()                            results/name/alone.out, .err, .status, .time (seconds since the
                                            start), and files that the job left

A job is a list of steps. They run one after the other in a directory of the job, which comes back. A step
that takes too long is killed (status 143), and so is a guest that takes too long."""
import collections
import contextlib
import fcntl
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile

import debian
import own_kernel
from debian import Unavailable
from initramfs import Archive

HERE = os.path.dirname(os.path.realpath(__file__))
SECONDS, MEMORY, PROCESSORS = 3000, "1536", "2"
STEP_SECONDS = 240
IMAGE = "1"  # version of cached images: count it up when images are made in another way
KERNELS, KERNEL = r"linux-image-\d\S*", re.compile(r"^\./boot/vmlinuz-")
# Files that no test reads. The kernel's modules are missing, too: Debian's kernels have all drivers that
# the guests need built in.
LEFT_OUT = tuple(f"usr/share/{name}/" for name in (
    "doc", "man", "locale", "info", "lintian", "bash-completion", "i18n", "zoneinfo", "X11", "icons"))
BASE = ["busybox-static", "libc6", "libgcc-s1", "libstdc++6"]

# The second serial port carries the results.
ON_PCI = ["-chardev", "file,id=sent,path=sent", "-device", "pci-serial,chardev=sent"]
Machine = collections.namedtuple(
    "Machine", "kernel emulator options console results words architecture more kernel_architecture", defaults=("", "", ""))
MACHINES = {
    # no_timer_check: on a busy host no tick may come while Linux checks the timer at boot.
    "amd64": Machine("linux-image-cloud-amd64", "qemu-system-x86_64",
                     ["-cpu", "max", "-M", "q35", "-serial", "file:console", "-serial", "file:sent"],
                     "ttyS0", "ttyS1", "no_timer_check"),
    # pauth-impdef: signing by QEMU's own function costs a fifth of the architecture's.
    "arm64": Machine("linux-image-cloud-arm64", "qemu-system-aarch64",
                     ["-cpu", "max,pauth-impdef=on", "-M", "virt,gic-version=3,mte=on",
                      "-serial", "file:console", *ON_PCI], "ttyAMA0", "ttyS0", ""),
    # Pages of 16 KB. Such a kernel is in the archive's backports only.
    "arm64-16k": Machine("linux-image-arm64-16k", "qemu-system-aarch64",
                         ["-cpu", "max,pauth-impdef=on", "-M", "virt,gic-version=3,mte=on",
                          "-serial", "file:console", *ON_PCI], "ttyAMA0", "ttyS0", "", "arm64", "backports"),
    # Pages of 64 KB. Debian has no such package, so the kernel is built (own_kernel.py).
    "arm64-64k": Machine("pages-64k.config", "qemu-system-aarch64",
                         ["-cpu", "max,pauth-impdef=on", "-M", "virt,gic-version=3,mte=on",
                          "-serial", "file:console", *ON_PCI], "ttyAMA0", "ttyS0", "", "arm64"),
    # highmem=off: the kernel reaches no PCI device above 4 GB.
    "armhf": Machine("linux-image-armmp", "qemu-system-arm",
                     ["-cpu", "max", "-M", "virt,highmem=off", "-serial", "file:console", *ON_PCI],
                     "ttyAMA0", "ttyS0", ""),
    # 32-bit programs under a 64-bit kernel. Its system calls, stops and signals are other code.
    "armhf-on-arm64": Machine("linux-image-cloud-arm64", "qemu-system-aarch64",
                              ["-cpu", "max,pauth-impdef=on", "-M", "virt,gic-version=3",
                               "-serial", "file:console", *ON_PCI], "ttyAMA0", "ttyS0", "", "armhf", "", "arm64"),
}


@contextlib.contextmanager
def only_one(path):
    """Holds the lock PATH. Other processes that want it wait."""
    with open(path, "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(cache, machine, names):
    """Paths of the kernel's image and of a cpio archive with the packages NAMES and their dependencies."""
    wanted = f"{IMAGE} {' '.join(sorted(names))}"
    place = os.path.join(os.path.realpath(cache), machine)
    kind = MACHINES[machine]
    kernel = os.path.join(place, "vmlinuz")
    image = os.path.join(place, hashlib.sha256(wanted.encode()).hexdigest()[:12] + ".cpio")
    os.makedirs(place, exist_ok=True)
    with only_one(os.path.join(place, "lock")):
        if not os.path.exists(kernel) or not os.path.exists(image):
            packages = debian.Packages(place, kind.architecture or machine, kind.more)
            packages.update()
            if not os.path.exists(kernel):
                fetch_kernel(packages, kind, kernel)
            make_image(packages, names, image)
            packages.remove_traces()
    return kernel, image


def fetch_kernel(packages, kind, path):
    """Writes the kernel of the machine KIND to PATH. PACKAGES has the architecture of the guest's programs."""
    if not kind.kernel_architecture:
        make_kernel(packages, kind.kernel, path)
        return
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as place:
        others = debian.Packages(place, kind.kernel_architecture, kind.more)
        others.update()
        make_kernel(others, kind.kernel, path)


def make_kernel(packages, name, path):
    """Writes a kernel to PATH: from the package that the metapackage NAME depends on, or built with the
    configuration file NAME."""
    if name.endswith(".config"):
        own_kernel.build(packages, name, "arm64", "aarch64-linux-gnu-", path)
        return
    archive = packages.fetch_alone(packages.depended_on(name, KERNELS))
    found = [data for item, data in debian.contents(archive) if KERNEL.match(item.name)]
    if not found:
        raise Unavailable(f"{archive} holds no kernel")
    with open(path + ".part", "wb") as file:
        file.write(found[0])
    os.replace(path + ".part", path)


def make_image(packages, names, path):
    with open(path + ".part", "wb") as file, Archive(file) as image:
        for archive in packages.fetch(names):
            image.package(debian.contents(archive), LEFT_OUT)
    os.replace(path + ".part", path)


class Guest:
    """A machine that boots once. Directories are relative to the current one."""

    def __init__(self, machine, cache, packages=(), step_seconds=STEP_SECONDS, workers=1):
        self.machine = MACHINES[machine]
        self.step_seconds, self.workers = step_seconds, workers
        if not shutil.which(self.machine.emulator):
            raise Unavailable(f"{self.machine.emulator} is not installed")
        self.kernel, self.image = fetch(cache, machine, [*BASE, *packages])
        self.has_shell = "dash" in packages  # otherwise /bin/sh is busybox
        self.files = {}
        self.jobs = {}
        self.by_instructions = False
        self.threads, self.processors = "multi", PROCESSORS

    def interrupt_at_every_instruction(self):
        """Lets interrupts, and with them signals and stops, come between any two instructions. Otherwise they
        come only at the ends of QEMU's blocks, behind branches. Takes about ten times as long."""
        self.by_instructions = True

    def run_processors_by_turns(self):
        """For programs that rewrite code which other threads run. Otherwise a processor of QEMU 7.2 may translate
        code while another one changes it, and keeps what it has read before."""
        self.threads = "single"

    def has_one_processor(self):
        """For programs that rewrite code, on 32-bit Arm: there a processor of QEMU 7.2 may run old code, also by turns."""
        self.processors = "1"

    def add(self, path, to=None):
        self.files[to or path] = path

    def job(self, name, steps):
        """Adds a job. STEPS: an iterable of (name, command)."""
        self.jobs[name] = "".join(shlex.join(["step", step, *command]) + "\n" for step, command in steps)

    def _write(self, path):
        with open(path, "wb") as file:
            with open(self.image, "rb") as image:
                shutil.copyfileobj(image, file)
            with Archive(file) as own:
                own.folder("tmp", 0o1777)
                for folder in "proc", "sys", "dev", "root", "results":
                    own.folder(folder)
                own.copy(os.path.join(HERE, "init"), "init")
                own.link("bin/sh", "dash" if self.has_shell else "busybox")
                own.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
                own.text("etc/group", "root:x:0:\n")
                for to, source in sorted(self.files.items()):
                    own.copy(source, to)
                for name, steps in self.jobs.items():
                    own.text(f"jobs/{name}", steps)

    def command(self):
        m = self.machine
        one = ["-singlestep"] if self.by_instructions else []
        return [m.emulator, "-accel", f"tcg,thread={self.threads}", *one, *m.options, "-m", MEMORY, "-smp", self.processors,
                "-display", "none", "-monitor", "none", "-no-reboot", "-nic", "none",
                "-kernel", self.kernel, "-initrd", "initrd",
                "-append", f"console={m.console} panic=-1 quiet {m.words} results=/dev/{m.results} "
                f"seconds={self.step_seconds} workers={self.workers}"]

    def boot(self, seconds=SECONDS):
        """Runs the jobs. Their results are in the directory "results" then. Returns "", or an error message if
        results are missing."""
        self._write("initrd")
        late = ""
        try:
            subprocess.run(self.command(), stdin=subprocess.DEVNULL, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            late = f"the guest was not done after {seconds} s; "
        os.remove("initrd")
        with open("sent", "rb") as sent, open("console", errors="replace", encoding="utf-8") as console:
            data, console_text = sent.read(), console.read()
        try:
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as results:
                results.extractall("results")
        except (tarfile.TarError, EOFError, OSError):
            return f"{late}the guest sent no results; its console's end:\n{console_text[-2000:]}"
        return ""
