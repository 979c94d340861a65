"""A JVM: code made at run time with null checks by SIGSEGV, overflowing stacks, threads, collections of
garbage."""
from real import compiled, real_program, which

JAVA = which("java")
DIRECTORY = compiled([which("javac"), "-d", "."], "Checks.java")

real_program([JAVA, "-cp", DIRECTORY, "-Xshare:auto", "-XX:+UseG1GC", "Checks"], status=4)
