"""nginx under wrk: static files and redirections, by its worker process."""
import os

from serving import Kind, answers_http, children_of, load_http, which
from visiting import serve

CONFIGURATION = """daemon off;
worker_processes 1;
pid {folder}/pid;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
    access_log {folder}/access;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_types text/plain;
    default_type text/plain;
    server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""


def start(port):
    folder = os.getcwd()
    os.mkdir("files", 0o755)
    with open("files/page", "w", encoding="utf-8") as page:
        page.write("some text that can be packed\n" * 200)
    with open("configuration", "w", encoding="utf-8") as configuration:
        configuration.write(CONFIGURATION.format(folder=folder, port=port))
    return [which("nginx"), "-c", os.path.join(folder, "configuration"), "-e", "stderr"]


def answers(port):
    return answers_http(port, "/page")


def load(port, seconds):
    return load_http(port, seconds, "/page", header="Accept-Encoding: gzip")


def load_closing(port, seconds):
    return load_http(port, seconds, "/page", header="Connection: close")


KIND = Kind(
    start, [load, load_closing], pids=children_of,
    ways=([], ["-M", "*"], ["-F", "ngx_*"], ["-M", "*", "--overflow=wait"], ["--overflow=wait"]),
    answers=answers, wrong=r"\[(warn|error|crit|alert|emerg)\](?!.*\"user\" directive)")

if __name__ == "__main__":
    serve(KIND)
