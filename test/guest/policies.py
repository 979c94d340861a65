#!/usr/bin/env python3
"""policies.py SPOOR

Tries each policy of Yama (kernel.yama.ptrace_scope). Users that may trace, trace; other users read how to
make it possible. Runs as root in an emulated machine only: the last policy cannot be undone."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "trace"))

from harness import SKIP, check, main, run  # noqa: E402

POLICY = "/proc/sys/kernel/yama/ptrace_scope"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
ROOT_MAY, NOBODY_MAY = "run spoor as root", "ptrace is disabled until the next boot"
# {policy: messages for another user's attach and record, and for root's attach}. None: it works.
WANTED = {0: (None, None, None),
          1: (f"(kernel.yama.ptrace_scope is 1): {ROOT_MAY} (sudo), or 'sysctl kernel.yama.ptrace_scope=0'", None, None),
          2: (f"(kernel.yama.ptrace_scope is 2): {ROOT_MAY} (sudo), or 'sysctl kernel.yama.ptrace_scope=0'",
              f"(kernel.yama.ptrace_scope is 2): {ROOT_MAY}, or 'sysctl kernel.yama.ptrace_scope=1'", None),
          3: (NOBODY_MAY, NOBODY_MAY, NOBODY_MAY)}


def check_message(words, status, wanted):
    done = run(words)
    message = done.stderr.decode()
    print(f"{' '.join(words)}: {done.status}: {message}", end="")
    if wanted is None:
        check(done.status == 0 and not message, f"{words}: {done}")
    else:
        check(done.status == status and message.count("\n") == 1 and wanted in message,
              f"{words}: {done}, not {wanted}")


def test_policy(spoor, pid, number):
    with open(POLICY, "w", encoding="ascii") as policy:
        policy.write(str(number))
    attach = [spoor, "attach", "-q", "--duration=100ms", str(pid)]
    attached, recorded, as_root = WANTED[number]
    check_message(NOBODY + attach, 1, attached)
    check_message([*NOBODY, spoor, "record", "-q", "--", "/busybox/true"], 125, recorded)
    check_message(attach, 1, as_root)
    check_message([*NOBODY, spoor, "explain", str(pid)], 1, None)


def test(spoor):
    os.chmod(".", 0o777)
    with subprocess.Popen([*NOBODY, "/busybox/sleep", "1000"]) as process:
        try:
            for number in WANTED:
                for file in os.listdir("."):
                    os.unlink(file)
                test_policy(spoor, process.pid, number)
            check(process.poll() is None, "the program has ended")
        finally:
            process.kill()


if __name__ == "__main__":
    if not os.path.exists(POLICY) or not os.path.exists("/busybox"):
        print("the kernel has no Yama, or this is no emulated machine")
        sys.exit(SKIP)
    subject = os.path.realpath(sys.argv[1])
    main(lambda: test(subject))
