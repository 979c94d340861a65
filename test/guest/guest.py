#!/usr/bin/env python3
"""guest.py SPOOR CACHE [--next PROGRAM OPTION...]...: programs of test/trace in a guest whose processor
has all that QEMU can emulate (-cpu max), under Debian's kernel.

In the guest each program runs alone and under spoor; what it printed and the traces come back and are
compared here, as run.py does it with its OPTIONs. With SPOOR_TEST_SEED (harness.py) these are some of the
programs, by chance: what is slow here has been run outside in the same round. Neither root nor KVM is needed. The kernel's package
is fetched by apt-get once and kept in the directory CACHE."""
import glob
import io
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "trace"))

import run as runner  # noqa: E402
from harness import SEED, SKIP, Failure, Outcome, Spoor, check, main  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
SECONDS, MEMORY, PROCESSORS = 3000, "1536", "2"
# What the guest is for: features that few machines have today.
FEATURES = {"la57", "pku"}
UNWINDER = "/lib/x86_64-linux-gnu/libgcc_s.so.1"  # loaded for pthread_cancel()
NAMES = ["default", "all"]  # of runner.WAYS
SOME = 8


def skip(why):
    print(why)
    sys.exit(SKIP)


def output_of(*command, **how):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False, **how)
    return done.stdout if done.returncode == 0 else ""


def kernel(cache):
    """The kernel's image, from Debian's package for virtual machines."""
    found = sorted(glob.glob(os.path.join(cache, "boot", "vmlinuz-*")))
    if found:
        return found[-1]
    depends = output_of("apt-cache", "depends", "linux-image-cloud-amd64")
    package = re.search(r"Depends: (linux-image-\d\S*)", depends)
    if not package:
        skip("apt-cache knows no linux-image-cloud-amd64")
    os.makedirs(cache, exist_ok=True)
    output_of("apt-get", "-q", "download", package[1], cwd=cache)
    for archive in glob.glob(os.path.join(cache, "*.deb")):
        output_of("dpkg-deb", "-x", archive, cache)
        os.remove(archive)
    found = sorted(glob.glob(os.path.join(cache, "boot", "vmlinuz-*")))
    if not found:
        skip(f"apt-get cannot fetch {package[1]}")
    return found[-1]


def needed_by(path):
    """The interpreter and the libraries that the dynamic linker finds for an ELF file."""
    interpreter = re.search(r"interpreter: (\S+)\]", output_of("readelf", "-lW", path))
    yield from [interpreter[1]] if interpreter else []
    if not interpreter or "musl" not in interpreter[1]:
        yield from re.findall(r"(/\S+) \(0x", output_of("ldd", path))


def install(root, path):
    to = root + path
    if not os.path.exists(to):
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(path, to)


def job_of(spoor, arguments):
    """Shell commands for init. Notes in ARGUMENTS which of the traces may lack events, by chance."""
    command = runner.command_of(arguments)
    arguments.lossy = {}
    lines = [shlex.join(["one", "alone", *command])]
    for name, options in zip(NAMES, runner.WAYS):
        record = spoor.command(options, command, f"{name}.trace")
        arguments.lossy[name] = spoor.lossy
        lines.append(shlex.join(["one", name, *record]))
    return "\n".join(lines) + "\n"


def file_system(root, spoor, jobs):
    for folder in ("bin", "proc", "sys", "dev", "tmp", "jobs"):
        os.makedirs(os.path.join(root, folder))
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin", "busybox"))
    shutil.copy(os.path.join(HERE, "init"), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    files = {spoor.path, *needed_by(spoor.path), UNWINDER}
    for number, arguments in enumerate(jobs):
        files |= {arguments.program, *arguments.library}
        files |= {arguments.load_by[1]} if arguments.load_by else set()
        for path in [arguments.program, *arguments.library]:
            files |= set(needed_by(path))
        with open(os.path.join(root, "jobs", f"{number:03}"), "w", encoding="utf-8") as job:
            job.write(job_of(spoor, arguments))
    for path in files:
        install(root, path)


def boot(image, root):
    """Runs the guest; what it sent is left in the folder results."""
    names = subprocess.run(["find", "."], cwd=root, stdout=subprocess.PIPE, check=True).stdout
    archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=root,
                             input=names, stdout=subprocess.PIPE, check=True).stdout
    with open("initrd", "wb") as initrd:
        initrd.write(archive)
    # A busy machine lets the emulated one wait: then no timer tick comes while Linux counts them.
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-M", "q35", "-m", MEMORY,
               "-smp", PROCESSORS, "-display", "none", "-monitor", "none", "-no-reboot",
               "-nic", "none", "-serial", "file:console", "-serial", "file:sent",
               "-kernel", image, "-initrd", "initrd", "-append", "console=ttyS0 panic=-1 quiet no_timer_check"]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        print(f"the guest was not done after {SECONDS} s", file=sys.stderr)
    with open("sent", "rb") as sent, open("console", errors="replace", encoding="utf-8") as console:
        data = sent.read()
        check(data, "the guest sent nothing; its console's end:\n" + console.read()[-2000:])
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as results:
        results.extractall("results")


def outcome(name):
    with open(f"{name}.out", "rb") as out, open(f"{name}.err", "rb") as err, \
            open(f"{name}.status", encoding="utf-8") as status:
        return Outcome(out.read(), err.read(), int(status.read()))


def check_job(spoor, arguments):
    alone = outcome("alone")
    check(alone.status != SKIP, "the guest's processor lacks what it needs")
    for name, options in zip(NAMES, runner.WAYS):
        os.replace(f"{name}.trace", "trace")
        spoor.lossy = arguments.lossy[name]
        runner.compare(arguments, spoor, alone, outcome(name), options)


def check_processor():
    with open("results/cpuinfo", encoding="utf-8") as info, \
            open("results/kernel", encoding="utf-8") as release:
        text = info.read()
        flags = set(re.search(r"flags\s*: (.*)", text)[1].split())
        print("processor:", re.search(r"model name\s*: (.*)", text)[1], "under", release.read().strip())
    print("features:", " ".join(sorted(flags)))
    check(flags >= FEATURES, f"the processor lacks {FEATURES - flags}")


def test(spoor, image, jobs):
    os.mkdir("root")
    file_system(os.path.realpath("root"), spoor, jobs)
    boot(image, "root")
    check_processor()
    failed = []
    top = os.getcwd()
    for number, arguments in enumerate(jobs):
        os.chdir(os.path.join(top, "results", f"{number:03}"))
        try:
            check_job(spoor, arguments)
        except (Failure, OSError) as failure:
            failed.append(f"{os.path.basename(arguments.program)}: {failure}")
    os.chdir(top)
    print(f"{len(jobs)} programs, {len(failed)} failed")
    check(not failed, "\n".join(failed))


def parse(words):
    """(path of spoor, cache, arguments of each program)."""
    jobs = []
    for word in words[2:]:
        if word == "--next":
            jobs.append([words[0]])
        else:
            jobs[-1].append(word)
    return words[0], os.path.realpath(words[1]), [runner.parse(job) for job in jobs]


if __name__ == "__main__":
    sys.setrecursionlimit(20000)
    for tool in ("qemu-system-x86_64", "cpio", "busybox", "readelf", "apt-get"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    given, given_cache, given_jobs = parse(sys.argv[1:])
    if SEED:
        given_jobs = random.Random(SEED).sample(given_jobs, SOME)
    tracer, image_file = Spoor(given), kernel(given_cache)
    main(lambda: test(tracer, image_file, given_jobs))
