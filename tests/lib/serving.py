"""A server of models in a process of its own."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from lib import ROOT

__all__ = ["Server", "served"]


class Server:
    """Where a server listens, and its process."""

    def __init__(self, process, http, grpc, metrics):
        self.process, self.http, self.grpc = process, f"127.0.0.1:{http}", f"127.0.0.1:{grpc}"
        self.metrics = f"http://127.0.0.1:{metrics}/metrics"

    def post(self, path, body, **headers):
        """The status and the body of the answer."""
        request = urllib.request.Request(
            f"http://{self.http}{path}", body, {"Content-Type": "application/json", **headers}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.http}/v2/health/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


@contextlib.contextmanager
def served(folder, *options, command=None):
    """Serve until the block ends; `command` takes the three ports in place of serve_model's own line."""
    ports = _free_ports(3)
    if command is None:
        flags = zip(("--http-port", "--grpc-port", "--metrics-port"), map(str, ports))
        line = ["-m", "gluonx.export.serve_model", str(folder), *options, *[part for pair in flags for part in pair]]
    else:
        line = command(*ports)
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    log = pathlib.Path(str(folder).rpartition("=")[2]).parent / f"server-{ports[0]}.log"
    with open(log, "w") as out:
        process = subprocess.Popen([sys.executable, *line], env=environment, stdout=out, stderr=out, cwd=log.parent)
    server = Server(process, *ports)
    try:
        until = time.monotonic() + 120
        while not server.ready():
            assert process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
