"""gluonx.utils: splitting, clipping and downloading."""

import functools
import hashlib
import http.server
import os
import sys
import threading
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gluonx import autograd, cpu, engine, utils
from gluonx import np as gnp
from gluonx.errors import FormatError, GluonxError, ShapeError
from gluonx.np.handle import ndarray


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 12), st.integers(1, 8), st.sampled_from([0, 1, -1, -2]))
def test_slices_are_the_data(size, count, axis):
    shape = (size, 3) if axis in (0, -2) else (3, size)
    data = np.arange(3 * size, dtype=np.float32).reshape(shape)
    parts = utils.split_data(gnp.array(data), count, axis, even_split=False)
    assert len(parts) == count
    np.testing.assert_array_equal(np.concatenate([p.asnumpy() for p in parts], axis), data)
    sizes = [p.shape[axis] for p in parts]
    assert max(sizes) - min(sizes) <= 1 and sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(("size", "count", "sizes"), [(10, 4, [3, 3, 2, 2]), (11, 4, [3, 3, 3, 2]), (2, 3, [1, 1, 0])])
def test_uneven_slices_as_mxnet(size, count, sizes):
    assert [p.shape[0] for p in utils.split_data(gnp.arange(size), count, even_split=False)] == sizes


def test_splitting_needs_even_parts_unless_told():
    with pytest.raises(ShapeError, match=r"shape \(5, 2\) cannot be split into 2 even slices along axis 0"):
        utils.split_data(gnp.zeros((5, 2)), 2)
    with pytest.raises(ShapeError, match="no axis 2"):
        utils.split_data(gnp.zeros((5, 2)), 1, 2)
    with pytest.raises(ValueError, match="num_slice must be at least 1"):
        utils.split_data(gnp.zeros((5, 2)), 0)
    whole = gnp.zeros((5, 2))
    assert utils.split_data(whole, 1) == [whole] or utils.split_data(whole, 1)[0] is whole


def test_split_and_load():
    data = np.arange(8, dtype=np.float32).reshape(4, 2)
    parts = utils.split_and_load(data, [cpu(0), cpu(1)])
    assert [p.asnumpy().tolist() for p in parts] == [data[:2].tolist(), data[2:].tolist()]
    assert [p.device for p in parts] == [cpu(0), cpu(1)]
    (one,) = utils.split_and_load([1, 2, 3], [cpu(0)])
    assert isinstance(one, ndarray) and one.asnumpy().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="at least one device"):
        utils.split_and_load(data, [])


def arrays(*values, dtype="float32"):
    return [gnp.array(v, dtype=dtype) for v in values]


@pytest.mark.parametrize(
    ("values", "max_norm", "norm", "after"),
    [
        ([[3.0, 4.0]], 1.0, 5.0, [[0.6, 0.8]]),
        ([[0.3, 0.4]], 1.0, 0.5, [[0.3, 0.4]]),
        ([[3.0, 4.0], [[12.0]]], 6.5, 13.0, [[1.5, 2.0], [[6.0]]]),
        ([[0.0, 0.0]], 1.0, 0.0, [[0.0, 0.0]]),
        ([[3.0, 4.0]], 0.0, 5.0, [[0.0, 0.0]]),
    ],
)
@pytest.mark.parametrize("read", [True, False])
def test_clip_global_norm(values, max_norm, norm, after, read):
    handles = arrays(*values)
    got = utils.clip_global_norm(handles, max_norm, check_isfinite=read)
    if read:
        assert type(got) is float
    else:
        assert isinstance(got, ndarray) and got.shape == (1,)
        got = got.item()
    assert got == pytest.approx(norm)
    for handle, value in zip(handles, after, strict=True):
        np.testing.assert_allclose(handle.asnumpy(), value, rtol=1e-6)


def test_clip_global_norm_of_an_array_that_is_named_twice():
    """It counts twice, and is scaled once: then the norm of the list is the bound. MXNet scales it twice."""
    tied, other = arrays([2.0, 1.0], [6.0])
    assert utils.clip_global_norm([tied, other, tied], 1.0) == pytest.approx(46**0.5)
    found = np.concatenate([a.asnumpy() for a in (tied, other, tied)])
    assert np.linalg.norm(found) == pytest.approx(1.0) and tied.tolist() == pytest.approx([2 / 46**0.5, 1 / 46**0.5])


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=5), min_size=1, max_size=4))
def test_the_norm_after_clipping_is_at_most_the_bound(values):
    handles = arrays(*values)
    before = np.linalg.norm(np.concatenate([np.asarray(v, np.float64) for v in values]))
    got = utils.clip_global_norm(handles, 2.0)
    assert got == pytest.approx(before, rel=1e-5, abs=1e-6)
    after = np.linalg.norm(np.concatenate([h.asnumpy() for h in handles]).astype(np.float64))
    assert after == pytest.approx(min(before, 2.0), rel=1e-5, abs=1e-6)


def test_clipping_keeps_dtypes_and_sums_in_float32():
    half, single = arrays([300.0, 400.0], dtype="float16") + arrays([1200.0])
    assert utils.clip_global_norm([half, single], 130.0) == pytest.approx(1300.0)  # 400**2 is inf in float16
    assert (half.dtype, single.dtype) == ("float16", "float32")
    np.testing.assert_allclose(half.asnumpy(), [30, 40], rtol=1e-3)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_norm_that_is_not_finite_warns(value):
    with pytest.warns(UserWarning, match=f"global norm is {value}"):
        got = utils.clip_global_norm(arrays([1.0, value]), 1.0)
    assert not np.isfinite(got)
    assert not np.isfinite(utils.clip_global_norm(arrays([1.0, value]), 1.0, check_isfinite=False).item())


def test_clip_global_norm_bad_input():
    with pytest.raises(ValueError, match="at least one array"):
        utils.clip_global_norm([], 1.0)
    with pytest.raises(TypeError, match="takes ndarrays, got float at place 1"):
        utils.clip_global_norm([gnp.ones(2), 1.0], 1.0)


def test_clipping_pending_gradients_reads_nothing_and_compiles_once():
    w = gnp.array([3.0, 4.0])
    w.attach_grad()

    def step(bound):
        with autograd.record():
            loss = gnp.sum(w * w)
        loss.backward()
        norm = utils.clip_global_norm([w.grad], bound, check_isfinite=False)
        return norm, w.grad

    for _ in range(2):
        norm, grad = step(1.0)
        grad.asnumpy()
    before = engine.stats()
    norm, grad = step(2.0)
    assert engine.stats()["dispatches"] == before["dispatches"]
    np.testing.assert_allclose(grad.asnumpy(), [1.2, 1.6], rtol=1e-6)
    assert norm.item() == pytest.approx(10.0)
    after = engine.stats()
    assert after["programs_compiled"] == before["programs_compiled"]


def test_the_clipped_gradient_is_the_handle_that_was_given():
    w = gnp.array([3.0, 4.0])
    w.attach_grad()
    with autograd.record():
        loss = gnp.sum(w * w)
    loss.backward()
    grad = w.grad
    utils.clip_global_norm([grad], 1.0, check_isfinite=False)
    assert w.grad is grad
    np.testing.assert_allclose(w.grad.asnumpy(), [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "known"), [(None, False), ((), True), ((1,), True), ((0,), True), ((-1, 2), False), ((2, 3), True)]
)
def test_shape_is_known(shape, known):
    assert utils.shape_is_known(shape) is known


def test_check_sha1_and_replace_file(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"old")
    new.write_bytes(b"hi")
    assert utils.check_sha1(new, hashlib.sha1(b"hi").hexdigest().upper())
    assert not utils.check_sha1(new, hashlib.sha1(b"old").hexdigest())
    utils.replace_file(new, old)
    assert old.read_bytes() == b"hi" and not new.exists()


CONTENT = bytes(range(256)) * 4000
SHA1 = hashlib.sha1(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves CONTENT; `faults` says what goes wrong at each request, `requests` what was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults, self.requests, self.content, self.tag = [], [], CONTENT, '"one"'
        self.ranges = True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/folder/data%20file.bin?x=1"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.requests.append(self.headers.get("Range"))
        fault = server.faults.pop(0) if server.faults else None
        if isinstance(fault, int):
            self.send_error(fault)
            return
        start = 0
        asked = self.headers.get("Range")
        unchanged = self.headers.get("If-Range") in (None, server.tag)
        if asked and server.ranges and unchanged:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(server.content):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(server.content) - start))
        self.send_header("ETag", server.tag)
        self.end_headers()
        body = server.content[start:]
        self.wfile.write(body[: len(body) // 2] if fault == "half" else body)

    def log_message(self, *args):
        pass


@pytest.fixture(params=["urllib", "requests"])
def server(request, monkeypatch):
    """A server that is reached through each library that `download` knows."""
    if request.param == "requests":
        pytest.importorskip("requests")
    else:
        monkeypatch.setitem(sys.modules, "requests", None)
    monkeypatch.setattr(utils.time, "sleep", lambda seconds: None)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Server() as server:
        thread = threading.Thread(target=functools.partial(server.serve_forever, poll_interval=0.01), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def files(folder):
    return sorted(os.listdir(folder))


def test_download(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert utils.download(server.url) == "data file.bin"
    path = utils.download(server.url, tmp_path / "deep" / "er" / "name", sha1_hash=SHA1)
    assert path == str(tmp_path / "deep" / "er" / "name")
    assert utils.download(server.url, tmp_path / "deep", sha1_hash=SHA1) == str(tmp_path / "deep" / "data file.bin")
    for file in ("data file.bin", "deep/er/name", "deep/data file.bin"):
        assert (tmp_path / file).read_bytes() == CONTENT
    assert files(tmp_path) == ["data file.bin", "deep"]
    assert server.requests == [None] * 3


def test_what_is_there_is_not_fetched(server, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"other")
    utils.download(server.url, path)
    assert path.read_bytes() == b"other" and not server.requests
    utils.download(server.url, path, sha1_hash=SHA1)
    assert path.read_bytes() == CONTENT and len(server.requests) == 1
    utils.download(server.url, path, sha1_hash=SHA1)
    assert len(server.requests) == 1
    utils.download(server.url, path, overwrite=True)
    assert len(server.requests) == 2


def test_from_a_file(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"data")
    target = utils.download(source.as_uri(), tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"data" and target.endswith("target")
    with pytest.raises(GluonxError, match=r"missing cannot be fetched: .*No such file"):
        utils.download((tmp_path / "missing").as_uri(), tmp_path / "other")
    assert files(tmp_path) == ["source", "target"]


def test_a_broken_transfer_is_resumed(server, tmp_path):
    server.faults = ["half", 503, "half"]
    utils.download(server.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    half = len(CONTENT) // 2
    assert server.requests[0] is None
    # What requests has read of a chunk in which the connection breaks is lost.
    begun = [int(asked.removeprefix("bytes=").removesuffix("-")) for asked in server.requests[1:]]
    lost = 0 if sys.modules["requests"] is None else utils._SMALL_CHUNK
    assert begun[0] == begun[1] and half - lost <= begun[0] <= half < begun[2] <= half + half // 2
    assert lost or begun == [half, half, half + half // 2]
    assert files(tmp_path) == ["file"]


def test_halves_of_different_versions_are_not_joined(server, tmp_path):
    server.faults = ["half"]
    fetch = utils._Transfer.run

    def run(self):
        try:
            fetch(self)
        finally:
            server.content, server.tag = CONTENT[::-1], '"two"'

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utils._Transfer, "run", run)
        utils.download(server.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT[::-1]


def test_a_server_that_cannot_resume_sends_all(server, tmp_path):
    server.faults, server.ranges = ["half"], False
    utils.download(server.url, tmp_path / "file", sha1_hash=SHA1)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_of_an_earlier_run_is_used_if_the_hash_vouches_for_it(server, tmp_path):
    server.faults = ["half"]
    with pytest.raises(GluonxError, match=r"broke off after|Connection broken"):
        utils.download(server.url, tmp_path / "file", sha1_hash=SHA1, retries=0)
    assert files(tmp_path) == ["file.part"]
    have = (tmp_path / "file.part").stat().st_size
    assert 0 <= len(CONTENT) // 2 - have < utils._SMALL_CHUNK
    utils.download(server.url, tmp_path / "file", sha1_hash=SHA1, retries=0)
    assert server.requests[1] == f"bytes={have}-"
    assert (tmp_path / "file").read_bytes() == CONTENT and files(tmp_path) == ["file"]


@pytest.mark.parametrize("part", [b"rubbish", b"x" * (len(CONTENT) + 5)], ids=["short", "long"])
def test_a_wrong_part_of_an_earlier_run_is_thrown_away(server, tmp_path, part):
    (tmp_path / "file.part").write_bytes(part)
    utils.download(server.url, tmp_path / "file", sha1_hash=SHA1)
    assert (tmp_path / "file").read_bytes() == CONTENT and files(tmp_path) == ["file"]
    assert len(server.requests) == 2 and server.requests[1] is None


def test_without_a_hash_an_earlier_part_is_not_trusted(server, tmp_path):
    (tmp_path / "file.part").write_bytes(CONTENT[:1000])
    utils.download(server.url, tmp_path / "file")
    assert server.requests == [None] and files(tmp_path) == ["file"]


def test_a_wrong_hash_leaves_nothing_and_keeps_the_old_file(server, tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(FormatError, match=f"does not have the SHA-1 hash {'0' * 40}"):
        utils.download(server.url, tmp_path / "file", sha1_hash="0" * 40)
    assert (tmp_path / "file").read_bytes() == b"old" and files(tmp_path) == ["file"]
    assert len(server.requests) == 1


def test_what_the_server_refuses_is_not_tried_again(server, tmp_path):
    server.faults = [404]
    with pytest.raises(GluonxError, match=r"data%20file.bin\?x=1 cannot be fetched: HTTP Error 404"):
        utils.download(server.url, tmp_path / "file")
    assert len(server.requests) == 1 and files(tmp_path) == []


def test_retries_are_counted(server, tmp_path):
    server.faults = [500] * 10
    with pytest.raises(GluonxError, match="HTTP Error 500"):
        utils.download(server.url, tmp_path / "file", retries=2)
    assert len(server.requests) == 3 and files(tmp_path) == []


def test_two_downloads_of_one_file_do_not_mix(server, tmp_path):
    with utils._part_file(str(tmp_path / "file"), keep=True) as first:
        with utils._part_file(str(tmp_path / "file"), keep=True) as second:
            assert first != second
        utils.download(server.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: utils.download("http://127.0.0.1/"), ValueError, "names no file"),
        (lambda: utils.download("http://127.0.0.1/x", retries=-1), ValueError, "retries must be at least 0"),
    ],
)
def test_download_bad_input(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_no_verification_warns(server, tmp_path):
    with pytest.warns(UserWarning, match="certificate of the server is not checked"):
        utils.download(server.url, tmp_path / "file", verify_ssl=False)


# -- requests.get, which tests and programs put something else in the place of ----------------------------------------


class Reply:
    """Response of a program's own ``requests.get``, with no more than MXNet asks of it."""

    def __init__(self, status_code, content, headers=()):
        self.status_code, self.content, self.headers, self.reason = status_code, content, dict(headers), "Because"

    def iter_content(self, chunk_size=1024):
        return (self.content[i : i + 1000] for i in range(0, len(self.content), 1000))

    def close(self):
        pass


@pytest.fixture
def get(monkeypatch):
    """A library `requests` whose ``get`` gives the replies in ``get.replies``, and notes how it was called."""

    def get(url, stream=False, verify=True, timeout=None, **options):
        get.calls.append((url, stream, verify, options))
        reply = get.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    get.calls, get.replies = [], []
    library = types.ModuleType("requests")
    library.get = get
    monkeypatch.setitem(sys.modules, "requests", library)
    monkeypatch.setattr(utils.time, "sleep", lambda seconds: None)
    return get


def test_download_goes_through_requests(get, tmp_path):
    get.replies = [Reply(200, CONTENT)]
    assert utils.download("https://nowhere.invalid/a/b.bin", str(tmp_path)) == str(tmp_path / "b.bin")
    assert (tmp_path / "b.bin").read_bytes() == CONTENT
    assert get.calls == [("https://nowhere.invalid/a/b.bin", True, True, {})]  # as MXNet calls it


def test_requests_are_tried_again_and_resumed(get, tmp_path):
    tag, half = {"ETag": '"one"', "Content-Length": str(len(CONTENT))}, len(CONTENT) // 2
    rest = {"Content-Length": str(len(CONTENT) - half)}
    get.replies = [
        ConnectionError("no way there"), Reply(503, b""), Reply(200, CONTENT[:half], tag),
        Reply(206, CONTENT[half:], rest)
    ]  # fmt: skip
    path = utils.download("http://nowhere.invalid/x", tmp_path / "x", sha1_hash=SHA1)
    assert check(path) and [options.get("headers", {}).get("Range") for *_, options in get.calls] == [
        None, None, None, f"bytes={half}-"
    ]  # fmt: skip


def check(path):
    return utils.check_sha1(path, SHA1)


def test_what_came_compressed_is_not_resumed(get, tmp_path):
    packed = {"Content-Encoding": "gzip", "Content-Length": "77", "ETag": '"one"'}  # the length of what was sent
    get.replies = [Reply(200, CONTENT, packed)]
    assert check(utils.download("http://nowhere.invalid/x", tmp_path / "x", sha1_hash=SHA1))
    transfer = utils._Transfer("http://nowhere.invalid/x", str(tmp_path / "part"), SHA1, True)
    get.replies = [Reply(200, CONTENT[:10], packed)]
    with pytest.raises(FormatError):
        transfer.run()
    (tmp_path / "part").write_bytes(CONTENT[:10])
    assert transfer._usable_bytes() == 0


def test_without_verification_requests_are_told(get, tmp_path):
    get.replies = [Reply(200, b"x" * 200)]
    with pytest.warns(UserWarning, match="^Unverified HTTPS request"):
        utils.download("https://nowhere.invalid/index.html", tmp_path / "x", verify_ssl=False)
    assert get.calls[0][2] is False


@pytest.mark.parametrize("replies", [[Reply(404, b"")], [Reply(500, b"")] * 3, [OSError("down")] * 3])
def test_failures_of_requests(get, tmp_path, replies):
    get.replies = list(replies)
    with pytest.raises(GluonxError, match="cannot be fetched"):
        utils.download("http://nowhere.invalid/x", tmp_path / "x", retries=2)
    assert not get.replies and files(tmp_path) == []


def test_a_wrong_hash_through_requests(get, tmp_path):
    get.replies = [Reply(200, b"something else")]
    with pytest.raises(FormatError, match="does not have the SHA-1 hash"):
        utils.download("http://nowhere.invalid/x", tmp_path / "x", sha1_hash=SHA1)
    assert files(tmp_path) == []


def test_a_home_folder_is_found(get, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    get.replies = [Reply(200, CONTENT)]
    assert utils.download("http://nowhere.invalid/b.bin", "~") == str(tmp_path / "b.bin")
