"""A JVM: code that is made at run time, null checks by SIGSEGV, stack overflows, threads, garbage collections."""
from real import compiled, real_program, which

JAVA = which("java")
DIRECTORY = compiled([which("javac"), "-d", "."], "Checks.java")

real_program([JAVA, "-cp", DIRECTORY, "-Xshare:auto", "-XX:+UseG1GC", "Checks"], status=4)
