"""Python's ThreadingHTTPServer under wrk: it starts a thread for each connection."""
import os

from serving import Kind, load_http, which
from visiting import serve

SCRIPT = """
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = json.dumps({"path": self.path, "headers": dict(self.headers), "sum": sum(range(100))})
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body.encode())
    def log_message(self, *unused):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64
    def handle_error(self, *unused):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*unused)
Server(("127.0.0.1", %d), Handler).serve_forever()
"""


def load_closing(port, seconds):
    return load_http(port, seconds, header="Connection: close")


KIND = Kind(
    lambda port: [which("python3"), "-c", SCRIPT % port],
    [load_http, load_closing], pids=lambda pid: [pid],
    ways=([], ["-M", "*"], ["-F", "_PyEval_EvalFrameDefault"], ["-M", "*", "--overflow=wait"],
          ["-M", "libc.so*"]),
    wrong="Traceback|Error|Exception", environment={"PATH": os.defpath})

if __name__ == "__main__":
    serve(KIND)
