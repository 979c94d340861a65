"""node's HTTP server under wrk. spoor does not trace the JIT's code."""
from serving import Kind, load_http, which
from visiting import serve

SCRIPT = """
const http = require("http");
http.createServer((request, response) => {
  let sum = 0;
  for (const word of "some words in a row".split(" ")) sum += word.length;
  response.end(JSON.stringify({ path: request.url, sum }));
}).listen(%d, "127.0.0.1");
"""

KIND = Kind(
    lambda port: [which("node"), "-e", SCRIPT % port],
    [load_http, load_http], pids=lambda pid: [pid],
    ways=([], ["-M", "*"], ["-F", "llhttp*"], ["-M", "*", "--overflow=wait"], ["-M", "libc.so*"]),
    wrong="Error|Warning|Fatal", generates=True)

if __name__ == "__main__":
    serve(KIND)
