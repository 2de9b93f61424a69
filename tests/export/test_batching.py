"""Requests of many clients in one batch, and what is refused before it: without a server."""

import asyncio
import gzip
import importlib.util
import json
import threading

import numpy as np
import pytest

from gluonx.export.batching import Batcher, Overloaded
from gluonx.export.serve_model import BodyLimit, main


def rows(*numbers):
    return np.array(numbers, "float32")[:, None]


def test_what_waits_while_a_batch_runs_is_the_next_batch():
    go, sizes = threading.Event(), []

    def run(arrays):
        go.wait(10)
        return [arrays[0] * 2]

    async def ask():
        batcher = Batcher(run, largest=8, seen=sizes.append)
        tasks = [asyncio.create_task(batcher([rows(*range(i, i + i))])) for i in range(1, 6)]
        await asyncio.sleep(0.05)
        go.set()
        answers = await asyncio.gather(*tasks)
        await batcher.drain()
        return answers

    for i, (answer,) in enumerate(asyncio.run(ask()), start=1):
        np.testing.assert_array_equal(answer, 2 * rows(*range(i, i + i)))
    assert sizes[0] in (1, 6) and sum(sizes) == 15 and max(sizes) <= 8 and len(sizes) <= 4


def test_requests_of_other_sizes_and_types_are_not_stacked():
    async def ask():
        batcher = Batcher(lambda arrays: [arrays[0]], wait=0.02)
        given = [np.zeros((1, 2)), np.ones((1, 3)), np.full((1, 2), 2, "int32")]
        return given, await asyncio.gather(*[batcher([x]) for x in given])

    for x, (answer,) in zip(*asyncio.run(ask())):
        assert answer.dtype == x.dtype
        np.testing.assert_array_equal(answer, x)


def test_a_failed_batch_and_a_client_that_went_away_leave_the_next_ones_be():
    calls = []

    def run(arrays):
        calls.append(len(arrays[0]))
        if arrays[0][0, 0] == 7:
            raise ZeroDivisionError("seven")
        return [arrays[0]]

    async def ask():
        batcher = Batcher(run, largest=1)
        first, gone = asyncio.create_task(batcher([rows(7)])), asyncio.create_task(batcher([rows(8)]))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(ZeroDivisionError, match="seven"):
            await first
        return await batcher([rows(9)])

    np.testing.assert_array_equal(asyncio.run(ask())[0], rows(9))
    assert calls == [1, 1]


def test_too_many_are_refused():
    go = threading.Event()

    def run(arrays):
        go.wait(10)
        return arrays

    async def ask():
        batcher = Batcher(run, largest=2, limit=4)
        tasks = [asyncio.create_task(batcher([rows(i)])) for i in range(9)]
        await asyncio.sleep(0.05)
        go.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(ask())
    refused = [a for a in answers if isinstance(a, Overloaded)]
    assert 3 <= len(refused) <= 5 and "more than 4 samples" in str(refused[0])
    assert [a for a in answers if isinstance(a, list)]


def post(body, *headers, limit=1000, step=100):
    """What an application behind a BodyLimit is given, and the status that the client sees."""
    got, sent = [], []

    async def app(scope, receive, send):
        message = await receive()
        got.append((message["body"], dict(scope["headers"])))
        await send({"type": "http.response.start", "status": 200, "headers": []})

    parts = [body[at : at + step] for at in range(0, len(body), step)] or [b""]

    async def receive():
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message):
        sent.append(message)

    asyncio.run(BodyLimit(app, limit)({"type": "http", "method": "POST", "headers": list(headers)}, receive, send))
    return got, sent[0]["status"], json.loads(sent[1]["body"])["error"] if len(sent) > 1 else ""


GZIP = (b"content-encoding", b"gzip")


def test_a_body_arrives_whole_and_unpacked():
    """Its length is that of what was unpacked."""
    assert post(b"x" * 950)[0] == [(b"x" * 950, {b"content-length": b"950"})]
    assert post(gzip.compress(b"x" * 950), GZIP)[0] == [(b"x" * 950, {b"content-length": b"950"})]


@pytest.mark.parametrize(
    ("body", "headers", "status", "told"),
    [
        (b"x" * 1001, [], 413, "more than 1000 bytes"),
        (gzip.compress(b"x" * 10_000_000, mtime=0), [GZIP], 413, "more than 1000 bytes"),
        (gzip.compress(b"x" * 100_000, mtime=0), [GZIP], 413, "unpacked"),
        (gzip.compress(b"x" * 900, mtime=0)[:-9], [GZIP], 400, "without an end"),
        (b"no gzip at all", [GZIP], 400, "no gzip data"),
        (b"x", [GZIP, GZIP], 415, "gzip"),
        (b"x", [(b"content-encoding", b"br")], 415, "gzip"),
    ],
)
def test_a_body_that_is_too_large_or_broken_is_refused(body, headers, status, told):
    got, found, error = post(body, *headers)
    assert (got, found) == ([], status) and told in error


@pytest.mark.skipif(importlib.util.find_spec("mlserver") is None, reason="the extra 'serve' is not installed")
def test_the_command_refuses_what_is_no_artifact(tmp_path):
    with pytest.raises(SystemExit, match=r"is not an artifact: it has no model\.json"):
        main([str(tmp_path)])
