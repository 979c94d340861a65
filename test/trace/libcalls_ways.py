#!/usr/bin/env python3
"""libcalls_ways.py SPOOR LOADING PLUGIN [CALLING CATCHING INTERPOSER STATIC]: library calls (--libcalls) of functions
that dlsym finds, of several programs in turn, of interposed functions; refused options and functions."""
import collections
import json
import os
import re
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run
from run import Expectation


def expected_calls(*programs):
    calls = collections.Counter()
    for program in programs:
        expected = Expectation(run([program]).stdout.decode(), os.path.basename(program))
        calls += collections.Counter((m.module, m.function) for marks in expected.threads.values()
                                     for m in marks if m.mark == ">")
    return calls


def traced(spoor, command, *options):
    """{(module, function): calls}"""
    check_same_outcome(run(command), spoor.record(["--libcalls", *options], command), " ".join(command))
    check_lossless(spoor.info())
    return collections.Counter({(row["module"], row["function"]): row["calls"] for row in spoor.report()})


def of_modules(calls, *modules):
    return {place: n for place, n in calls.items() if place[0] in modules}


def programs_in_turn(spoor, calling, catching):
    """The second program calls more functions of libraries that the first program uses, too."""
    seen = traced(spoor, ["/bin/sh", "-c", '"$0"; "$1"; "$0"', calling, catching])
    if not spoor.is_whole():
        return
    wanted = expected_calls(calling, catching, calling)
    library_calls = of_modules(seen, "called_library.so", "thrown.so")
    check(library_calls == dict(wanted), f"{library_calls} instead of {dict(wanted)}")
    starts = {place: n for place, n in seen.items() if place[1].startswith("__libc_start_main")}
    check(list(starts.values()) == [4], f"four programs began: {starts}")
    count = spoor.info()["functions"]["instrumented"]
    check(count >= len(seen), f"{len(seen)} functions were called, but info counts {count} instrumented ones")
    spoor.view("report", "-F", "pthread_create", "trace")  # the shell does not import it
    names = [module["name"] for module in spoor.info()["modules"]]
    check(len(names) == len(set(names)), f"modules are listed more than once: {names}")


def looked_up(spoor, loading, plugin):
    """A program that uses dlsym may call any function. Calls that the plug-in makes are still not recorded."""
    module = os.path.basename(plugin)
    seen = of_modules(traced(spoor, [loading, plugin]), module)
    calls = run([loading, plugin]).stdout.decode().count(f"> {module}!plugin_work\n")
    check(calls > 0, f"{loading} makes no calls")
    if spoor.is_whole():
        check(seen == {(module, "plugin_work"): calls}, f"of the plug-in: {seen} instead of {calls} calls")
    done = run([spoor.path, "record", "--libcalls", "-o", "trace", "-F", "dlsyn", loading, plugin])
    says = b"filter 'dlsyn': matches no function that libraries export: did you mean dlsym"
    check(done.status == 0 and says in done.stderr, f"stderr: {done.stderr.decode()}")


def interposed(spoor, calling, interposer):
    """The program calls the interposer's definition, which calls the library's."""
    seen = traced(spoor, ["/usr/bin/env", f"LD_PRELOAD={interposer}", calling])
    if not spoor.is_whole():
        return
    wanted = expected_calls(calling)
    leaves = wanted.pop(("called_library.so", "called_leaf"))
    check(seen["interposer.so", "called_leaf"] == leaves, f"{seen} instead of {leaves} calls of called_leaf")
    library_calls = of_modules(seen, "called_library.so")
    check(library_calls == dict(wanted), f"{library_calls} instead of {dict(wanted)}")


def check_refused(spoor, name, reason):
    """`explain` refuses NAME for the same REASON in one of the recorded modules."""
    reasons = set()
    for module in spoor.info()["modules"]:
        done = run([spoor.path, "explain", "--json", "-F", name, module["path"]])
        reasons.update(row["refused"] for row in json.loads(done.stdout) if done.status == 0)
    check(reason in reasons, f"{name} is not traced ({reason}); explain: {reasons}")


def untraceable(spoor, calling):
    """At the end spoor names functions that the program calls and that cannot be traced: one of called_library.so, and those
    of the machine's C library."""
    stderr = run([spoor.path, "record", "--libcalls", "-o", "trace", calling]).stderr.decode()
    [named] = re.findall("^spoor: library calls that are not traced: (.*)$", stderr, re.M) or [""]
    refused_calls = dict(re.findall(r"(\S+) \(([a-z-]+)\)(?:, |$)", named))
    check(refused_calls.pop("called_bad", None) == "undecodable", f"stderr: {stderr}")
    for name, reason in refused_calls.items():
        check_refused(spoor, name, reason)


def refused(spoor, options, program, says):
    done = run([spoor.path, "record", "-o", "trace", *options, "--", program])
    stderr = done.stderr.decode()
    check(done.status == 125 and not done.stdout, f"{options}: status {done.status}, {done.stdout}")
    check(stderr.count("\n") == 1 and says in stderr, f"{options}: stderr: {stderr}")


def test(path, loading, plugin, *others):
    spoor = Spoor(path)
    looked_up(spoor, loading, plugin)
    if not others:
        return
    calling, catching, interposer, static = others
    programs_in_turn(spoor, calling, catching)
    interposed(spoor, calling, interposer)
    untraceable(spoor, calling)
    refused(spoor, ["--libcalls"], static, f"{static}: imports no functions")
    for name, says in (("called_loaf", "that the program imports: did you mean called_leaf"),
                       ("nothing_like_this", "that the program imports ('nm -uD' lists these)")):
        refused(spoor, ["--no-follow", "--libcalls", "-F", name], calling, f"'{name}': matches no function {says}")
    check_same_outcome(run([static]), spoor.record(["--libcalls", "-M", "*"], [static]), "-M '*'")


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))
