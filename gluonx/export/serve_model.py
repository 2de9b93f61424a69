"""Serve exported models: ``python -m gluonx.export.serve_model digits/`` (extra ``serve``).

MLServer answers the Open Inference Protocol, version 2, over REST and gRPC, and tells Prometheus its metrics;
`gluonx.export.runtime` is what runs. A client that asks by ``POST /v2/repository/models/NAME/load`` has a model read
again from its folder: the old one answers until the new one is there.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import json
import sys
import zlib
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_MISSING = "serving needs MLServer, which runs on Python 3.11 and 3.12: pip install 'gluonx[serve]'"
_GZIP = 16 + zlib.MAX_WBITS
_BINARY = b"inference-header-content-length"
_KINDS = {
    **{
        f"{kind}{bits}": f"<{code}{bits // 8}"
        for kind, code in (("UINT", "u"), ("INT", "i"))
        for bits in (8, 16, 32, 64)
    },
    "BOOL": "?",
    "FP16": "<f2",
    "FP32": "<f4",
    "FP64": "<f8",
}


def unpacked(body: bytes, head: int) -> bytes:
    """Return a request whose tensors come as bytes behind its JSON, of `head` bytes, as JSON alone.

    MLServer takes only that. It is the binary extension of the protocol, in which Triton's clients speak by themselves.

    Raises
    ------
    ValueError
        If the bytes are not those that the JSON tells of.
    """
    request, rest = json.loads(body[:head]), memoryview(body)[head:]
    for tensor in request["inputs"]:
        size = (tensor.get("parameters") or {}).pop("binary_data_size", None)
        if size is None:
            continue
        name, kind = tensor["name"], _KINDS.get(tensor["datatype"])
        if kind is None:
            raise ValueError(f"input {name!r}: {tensor['datatype']} does not come as bytes")
        if not isinstance(size, int) or not 0 <= size <= len(rest) or size % np.dtype(kind).itemsize:
            raise ValueError(f"input {name!r}: {size} bytes of {tensor['datatype']} were told, {len(rest)} came")
        tensor["data"], rest = np.frombuffer(rest[:size], kind).tolist(), rest[size:]
    if len(rest):
        raise ValueError(f"{len(rest)} bytes came that no input tells of")
    return json.dumps(request, allow_nan=False).encode()


class BodyLimit:
    """An ASGI application before another one: it reads requests' bodies, unpacks them, and refuses what is too large.

    Parameters
    ----------
    app : callable
        The other one.
    limit : int
        Bytes of a body, packed or not.
    """

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        headers = [(n, v) for n, v in scope["headers"] if n not in (b"content-encoding", b"content-length", _BINARY)]
        head = [value for name, value in scope["headers"] if name == _BINARY]
        packing = [value for name, value in scope["headers"] if name == b"content-encoding" and value != b"identity"]
        if packing not in ([], [b"gzip"]):
            return await _refused(send, 415, "a body may be packed by gzip, and by nothing else")
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.limit:
                return await _refused(send, 413, f"the body has more than {self.limit} bytes")
        try:
            told = _decoded(bytes(body), bool(packing), head, self.limit)
        except _Refusal as refusal:
            return await _refused(send, *refusal.args)
        if head:
            headers = [*((n, v) for n, v in headers if n != b"content-type"), (b"content-type", b"application/json")]
        headers.append((b"content-length", str(len(told)).encode()))
        whole = [{"type": "http.request", "body": told, "more_body": False}]

        async def once() -> MutableMapping[str, Any]:
            return whole.pop() if whole else await receive()

        return await self.app({**scope, "headers": headers}, once, send)


class _Refusal(Exception):
    """A status and an error to answer with."""


def _decoded(body: bytes, packed: bool, head: list[bytes], limit: int) -> bytes:
    """Return the JSON of a body that may be packed, and have tensors as bytes behind its JSON."""
    if packed:
        unpacker = zlib.decompressobj(_GZIP)
        try:
            body = unpacker.decompress(body, limit)
        except zlib.error as error:
            raise _Refusal(400, f"the body is no gzip data: {error}") from None
        if unpacker.unconsumed_tail:
            raise _Refusal(413, f"the body has more than {limit} bytes, unpacked")
        if not unpacker.eof:
            raise _Refusal(400, "the body is gzip data without an end")
    if not head:
        return body
    try:
        return unpacked(body, int(head[0]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _Refusal(400, f"the bytes of the request do not fit its JSON: {error}") from None


async def _refused(send: Send, status: int, error: str) -> None:
    body = json.dumps({"error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class ModelList:
    """A model repository for MLServer: the models that the command line named.

    Parameters
    ----------
    root : str
        MLServer gives it; unused.
    models : sequence of dict
        The contents of a ``model-settings.json`` each.
    """

    def __init__(self, root: str, models: Sequence[dict[str, Any]]) -> None:
        self._models = models

    async def list(self) -> list[Any]:
        """All of them, made anew."""
        from mlserver import ModelSettings

        return [ModelSettings.model_validate(dict(model)) for model in self._models]

    async def find(self, name: str) -> list[Any]:
        """Those of a name.

        Raises
        ------
        mlserver.errors.ModelNotFound
            If there is none.
        """
        from mlserver.errors import ModelNotFound

        found = [model for model in await self.list() if model.name == name]
        if not found:
            raise ModelNotFound(name)
        return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gluonx.export.serve_model", description="Serve exported models.")
    add = parser.add_argument
    add(
        "model",
        nargs="+",
        metavar="[NAME[@VERSION]=]FOLDER",
        help="an artifact; it is served under the folder's name, or NAME, of which there may be several versions",
    )
    add("--host", default="127.0.0.1", help="address to listen at (%(default)s: this machine alone)")
    add("--http-port", type=int, default=8080, help="REST (%(default)s)")
    add("--grpc-port", type=int, default=8081, help="gRPC (%(default)s)")
    add("--metrics-port", type=int, default=8082, help="Prometheus, at /metrics (%(default)s)")
    add("--max-batch", type=int, default=32, help="samples in a batch (%(default)s); 1 runs each request by itself")
    add("--max-wait", type=float, default=0.0, metavar="SECONDS", help="a batch waits so long for more (%(default)s)")
    add("--max-waiting", type=int, default=4096, metavar="SAMPLES", help="more are refused, by 503 (%(default)s)")
    add("--buckets", metavar="1,2,4", help="the batch sizes that are compiled (powers of 2 up to the largest batch)")
    add(
        "--grace",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="to answer what is in hand when told to end (%(default)s)",
    )
    add(
        "--cache",
        metavar="FOLDER",
        default="",
        help="keep compiled programs here, so that a server that is started again does not compile them again",
    )
    add("--max-body", type=int, default=64_000_000, metavar="BYTES", help="of a request, unpacked (%(default)s)")
    return parser


def _named(given: str) -> tuple[str, str, Path]:
    """Name, version and folder of ``[NAME[@VERSION]=]FOLDER``."""
    called, _, folder = given.rpartition("=")
    name, _, version = called.partition("@")
    path = Path(folder).resolve()
    return name or path.name, version, path


def _model_settings(given: str, options: argparse.Namespace) -> dict[str, Any]:
    name, version, path = _named(given)
    extra: dict[str, Any] = {"max_waiting": options.max_waiting}
    if options.buckets:
        extra["buckets"] = [int(size) for size in options.buckets.split(",")]
    return {
        "name": name,
        "implementation": "gluonx.export.runtime.Runtime",
        "max_batch_size": options.max_batch,
        "max_batch_time": options.max_wait,
        "parameters": {"uri": str(path), "extra": extra, **({"version": version} if version else {})},
    }


def _server_class(grace: float) -> Any:
    """Make the class of a server that, when it is told to end, takes nothing new and answers what it has taken.

    MLServer gives calls by gRPC five seconds, and those by REST as long as they need; here both have `grace` seconds,
    and a second signal ends them at once.
    """
    import mlserver.metrics.server
    import mlserver.rest.server
    from mlserver import MLServer

    for module in (mlserver.rest.server, mlserver.metrics.server):
        # MLServer hears signals itself and means to keep uvicorn from it, by a method that uvicorn has no longer:
        # uvicorn would send each signal once more, which is a second one to the other servers.
        module._NoSignalServer.capture_signals = lambda self: contextlib.nullcontext()

    class Server(MLServer):
        told = False

        async def stop(self, sig: int | None = None) -> None:
            again, self.told = self.told, True
            left = 0.0 if again else grace
            rest = getattr(self._rest_server, "_server", None)  # there are none before they have started
            if rest is not None:
                rest.config.timeout_graceful_shutdown = left
                rest.should_exit, rest.force_exit = True, again
            calls = getattr(self._grpc_server, "_server", None)
            if calls is not None:
                await calls.stop(left)
            metrics = getattr(self._metrics_server, "_server", None)
            if metrics is not None:
                metrics.should_exit = True

    return Server


async def _serve(options: argparse.Namespace) -> None:
    from mlserver import Settings

    settings = Settings(
        debug=False,
        parallel_workers=0,  # XLA has threads of its own; a worker process costs a copy of each request
        host=options.host,
        http_port=options.http_port,
        grpc_port=options.grpc_port,
        metrics_port=options.metrics_port,
        grpc_max_message_length=options.max_body,
        model_repository_implementation="gluonx.export.serve_model.ModelList",
        model_repository_implementation_args={"models": [_model_settings(given, options) for given in options.model]},
    )
    server = _server_class(options.grace)(settings)
    # MLServer unpacks gzip without a limit and offers no place for one of ours.
    server._rest_server._app.add_middleware(BodyLimit, limit=options.max_body)
    await server.start(await server._model_repository.list())


def main(args: Sequence[str] | None = None) -> None:
    """Serve until SIGINT or SIGTERM, and then answer what was taken before (``--grace``).

    Parameters
    ----------
    args : sequence of str, optional
        The command line; see ``--help``.

    Raises
    ------
    SystemExit
        If a folder is no artifact's, or MLServer is not installed.
    """
    options = _parser().parse_args(args)
    if importlib.util.find_spec("mlserver") is None:
        raise SystemExit(_MISSING)
    seen: set[tuple[str, str]] = set()
    for given in options.model:
        name, version, folder = _named(given)
        if not (folder / "model.json").is_file():
            raise SystemExit(f"'{given.rpartition('=')[2]}' is not an artifact: it has no model.json")
        if (name, version) in seen:
            raise SystemExit(f"two models are called {name!r}: name versions, {name}@1=FOLDER {name}@2=FOLDER")
        seen.add((name, version))
    if options.cache:
        from gluonx import engine

        engine.compilation_cache(options.cache)
    asyncio.run(_serve(options))


if __name__ == "__main__":
    main(sys.argv[1:])
