"""A Java HTTP server under wrk. spoor traces the virtual machine and its libraries, not the code that it makes."""
from real import compiled
from serving import Kind, load_http, which
from visiting import serve

JAVA = which("java")
DIRECTORY = compiled([which("javac"), "-d", "."], "Served.java")

KIND = Kind(
    lambda port: [JAVA, "-cp", DIRECTORY, "-Xmx64m", "Served", str(port)],
    [load_http, load_http], pids=lambda pid: [pid],
    ways=(["-M", "lib*"], ["-M", "*"], ["-M", "libc.so*"], ["-M", "libjvm.so"],
          ["-M", "*", "--overflow=wait"]),
    wrong="Exception|Error|SIG|#", generates=True)

if __name__ == "__main__":
    serve(KIND)
