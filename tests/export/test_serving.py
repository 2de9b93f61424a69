"""A served model as a client that is not ours sees it (tritonclient): right numbers, bad requests, load, a reload."""

import gzip
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import psutil
import pytest

from gluonx import nn
from gluonx import np as gnp
from lib import ROOT
from lib.serving import served

if importlib.util.find_spec("mlserver") is None:  # to import it here would clash with the client's protobufs
    pytest.skip("the extra 'serve' is not installed", allow_module_level=True)
grpcclient = pytest.importorskip("tritonclient.grpc", reason="the extra 'serve' is not installed")
httpclient = pytest.importorskip("tritonclient.http", reason="the extra 'serve' is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def export(folder, scale=1.0):
    """A net that multiplies by `scale` and sums, so that every answer tells whose it is."""
    net = nn.Dense(3, in_units=4, use_bias=False)
    net.initialize()
    net.weight.set_data(gnp.full((3, 4), scale) * gnp.array([[1.0], [2.0], [3.0]]))
    return net.export(folder, inputs=[gnp.ones((1, 4))])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = export(tmp_path_factory.mktemp("served") / "net")
    with served(folder, "--max-body", "100000", "--max-batch", "16") as running:
        running.folder = folder
        yield running


def ask(client, module, x, name="net", **how):
    tensor = module.InferInput("data", x.shape, "FP32")
    tensor.set_data_from_numpy(x, **how)
    return client.infer(name, [tensor]).as_numpy("output0")


def expected(x, scale=1.0):
    return x.sum(1, keepdims=True) * np.array([[1, 2, 3]], "float32") * scale


def body(data=(1.0, 2.0, 3.0, 4.0), shape=(1, 4), datatype="FP32", name="data", **more):
    return json.dumps({"inputs": [{"name": name, "shape": shape, "datatype": datatype, "data": data}], **more}).encode()


def test_a_foreign_client_gets_the_right_numbers(server):
    x = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
    with httpclient.InferenceServerClient(server.http) as client:
        told = client.get_model_metadata("net")
        assert told["inputs"] == [{"name": "data", "datatype": "FP32", "shape": [-1, 4]}]
        assert told["outputs"] == [{"name": "output0", "datatype": "FP32", "shape": [-1, 3]}]
        np.testing.assert_allclose(ask(client, httpclient, x, binary_data=False), expected(x), rtol=1e-5)
    with grpcclient.InferenceServerClient(server.grpc) as client:
        assert client.is_model_ready("net")
        for size in (1, 3, 16, 40):  # in one piece, padded, and split
            x = np.random.default_rng(size).normal(size=(size, 4)).astype("float32")
            np.testing.assert_allclose(ask(client, grpcclient, x), expected(x), rtol=1e-5, atol=1e-5)


def test_tensors_come_as_bytes_over_rest(server):
    """What tritonclient.http does unless told otherwise: bytes behind the JSON."""
    x = np.random.default_rng(1).normal(size=(5, 4)).astype("float32")
    with httpclient.InferenceServerClient(server.http) as client:
        np.testing.assert_array_equal(ask(client, httpclient, x), ask(client, httpclient, x, binary_data=False))
    head = json.dumps(
        {"inputs": [{"name": "data", "shape": [1, 4], "datatype": "FP32", "parameters": {"binary_data_size": 16}}]}
    ).encode()
    for rest, told in ((b"\0" * 15, "15 came"), (b"\0" * 17, "1 bytes came that no input tells of")):
        asked = urllib.request.Request(
            f"http://{server.http}/v2/models/net/infer",
            head + rest,
            {"Inference-Header-Content-Length": str(len(head))},
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked)
        assert refused.value.code == 400
        assert told in refused.value.read().decode()


def test_versions_of_a_model_and_programs_that_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")  # the tests' own is 1
    old, new = export(tmp_path / "old"), export(tmp_path / "new", scale=2.0)
    x = np.ones((1, 4), "float32")
    cache = tmp_path / "programs"
    for again in (False, True):
        kept = set(cache.glob("*-cache"))
        with (
            served(f"net@1={old}", f"net@2={new}", "--buckets", "1,4", "--cache", str(cache)) as running,
            grpcclient.InferenceServerClient(running.grpc) as client,
        ):
            tensor = grpcclient.InferInput("data", x.shape, "FP32")
            tensor.set_data_from_numpy(x)
            for version, scale in (("1", 1.0), ("2", 2.0), ("", 2.0)):
                found = client.infer("net", [tensor], model_version=version).as_numpy("output0")
                np.testing.assert_allclose(found, expected(x, scale), rtol=1e-5)
        assert set(cache.glob("*-cache")) == kept if again else list(cache.glob("*-cache"))


def test_every_client_gets_its_own_answer(server):
    def client_of(number):
        rng = np.random.default_rng(number)
        with grpcclient.InferenceServerClient(server.grpc) as client:
            for _ in range(50):
                x = rng.normal(size=(int(rng.integers(1, 5)), 4)).astype("float32")
                np.testing.assert_allclose(ask(client, grpcclient, x), expected(x), rtol=1e-4, atol=1e-5)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(client_of, range(16)))
    lines = urllib.request.urlopen(server.metrics).read().decode().splitlines()
    batches = {
        line.split('le="')[1].split('"')[0]: float(line.split()[-1]) for line in lines if "batch_samples_bucket" in line
    }
    assert batches["+Inf"] > batches["4.0"] > 0  # some batches were of more than one client


def test_numbers_that_are_none_travel(server):
    with grpcclient.InferenceServerClient(server.grpc) as client:
        x = np.array([[np.nan, 1, 2, 3], [np.inf, 0, 0, 0]], "float32")
        found = ask(client, grpcclient, x)
        assert np.isnan(found[0]).all() and np.isinf(found[1]).all()


BAD = {
    "a wrong width": (body((1.0, 2.0), (1, 2)), 400, "axis 1 of 'data' must be 4"),
    "a wrong rank": (body((1.0, 2.0, 3.0, 4.0), (4,)), 400, "'data' has the wrong shape"),
    "a negative size": (body(shape=(-1, -4)), 400, "'data' has the wrong shape"),
    "no sample": (body((), (0, 4)), 400, "there is no sample"),
    "another type": (body((1, 2, 3, 4), datatype="INT32"), 400, "expected FP32, got INT32"),
    "no such type": (body(datatype="FP31"), 422, "datatype"),
    "strings": (body(("1", "2", "3", "4")), 400, "not all FP32 numbers"),
    "null": (body((1.0, None, 3.0, 4.0)), 400, "not all FP32 numbers"),
    "ragged": (body(((1.0, 2.0), (3.0,))), 400, "not an array"),
    "too large for float32": (body((1e39, 0.0, 0.0, 0.0)), 400, "out of the range"),
    "fewer than said": (body((1.0, 2.0, 3.0)), 400, "3 elements"),
    "more than said": (body((1.0,) * 8), 400, "8 elements"),
    "nested another way": (body(((1.0, 2.0), (3.0, 4.0))), 400, "nested as [2, 2]"),
    "a bomb by its shape": (body(shape=(2**40, 4)), 400, "does not belong to the data"),
    "another input": (body(name="date"), 400, "takes the inputs (data)"),
    "no input": (json.dumps({"inputs": []}).encode(), 400, "takes the inputs (data)"),
    "an output there is not": (body(outputs=[{"name": "probs"}]), 400, "has no output 'probs'"),
    "half a body": (body()[:40], 422, "JSON"),
    "nothing": (b"", 422, "missing"),
    "another thing": (b"[" * 100_000, 422, "JSON"),
    "a large body": (body((1.0,) * 40_000, (10_000, 4)), 413, "more than 100000 bytes"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_request_is_told_what_is_wrong(server, bad):
    sent, status, told = BAD[bad]
    found, answer = server.post("/v2/models/net/infer", sent)
    assert found == status and told in answer
    assert server.post("/v2/models/net/infer", body())[0] == 200


def test_a_gzip_bomb_and_a_client_that_hangs_up(server):
    packed = gzip.compress(b"[" + b"0," * 50_000_000 + b"0]")
    before = psutil.Process(server.process.pid).memory_info().rss
    status, answer = server.post("/v2/models/net/infer", packed, **{"Content-Encoding": "gzip"})
    assert status == 413 and "more than 100000 bytes" in answer
    assert psutil.Process(server.process.pid).memory_info().rss - before < 20e6
    assert server.post("/v2/models/net/infer", gzip.compress(body()), **{"Content-Encoding": "gzip"})[0] == 200
    host, port = server.http.split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"POST /v2/models/net/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n" + body()[:20])
    assert server.post("/v2/models/net/infer", body())[0] == 200


@pytest.mark.parametrize("shape", [(1, 5), (2**40, 4), (3, 4), (1,)])
def test_a_raw_tensor_that_lies_about_its_shape(server, shape):
    from tritonclient.utils import InferenceServerException

    with grpcclient.InferenceServerClient(server.grpc) as client:
        tensor = grpcclient.InferInput("data", (1, 4), "FP32")
        tensor.set_data_from_numpy(np.ones((1, 4), "float32"))
        tensor.set_shape(shape)
        with pytest.raises(InferenceServerException):
            client.infer("net", [tensor])
        x = np.ones((1, 4), "float32")
        np.testing.assert_allclose(ask(client, grpcclient, x), expected(x))


def test_a_reload_under_load_drops_no_request(tmp_path):
    folder = export(tmp_path / "net")
    stop, scales, x = threading.Event(), [], np.ones((1, 4), "float32")
    with served(folder) as running:

        def client_of(_):
            with grpcclient.InferenceServerClient(running.grpc) as client:
                while not stop.is_set():
                    scales.append(float(ask(client, grpcclient, x)[0, 0]) / 4)

        with ThreadPoolExecutor(8) as pool:
            clients = [pool.submit(client_of, i) for i in range(8)]
            for scale in (2.0, 3.0, 4.0):
                time.sleep(0.5)
                export(folder, scale)
                assert running.post("/v2/repository/models/net/load", b"")[0] == 200
            (folder / "model.stablehlo").write_bytes(b"damaged")
            assert running.post("/v2/repository/models/net/load", b"")[0] == 500  # and the one before goes on
            time.sleep(0.5)
            stop.set()
            for client in clients:
                client.result()  # an error of any request would be raised here
    assert set(scales) == {1.0, 2.0, 3.0, 4.0} and scales[-1] == 4.0


def test_the_memory_stays_flat(server):
    process = psutil.Process(server.process.pid)
    x = np.ones((2, 4), "float32")

    def client_of(count):
        with grpcclient.InferenceServerClient(server.grpc) as client:
            for _ in range(count):
                ask(client, grpcclient, x)

    def requests(count):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(client_of, [count // 4] * 4))
        return process.memory_info().rss

    before = requests(2000)
    after = requests(10_000)
    assert after - before < 8e6, (before, after)


def test_a_settings_file_of_mlserver(tmp_path):
    (tmp_path / "models").mkdir()
    folder = export(tmp_path / "models" / "net")
    settings = {
        "name": "sums",
        "implementation": "gluonx.export.runtime.Runtime",
        "max_batch_size": 8,
        "parameters": {"uri": ".", "extra": {"buckets": [1, 8]}},
    }
    (tmp_path / "models" / "model-settings.json").write_text(json.dumps({**settings, "parameters": {"uri": "./net"}}))

    def command(http, grpc, metrics):
        server = {"parallel_workers": 0, "http_port": http, "grpc_port": grpc, "metrics_port": metrics, "debug": False}
        (tmp_path / "models" / "settings.json").write_text(json.dumps({**server, "host": "127.0.0.1"}))
        start = "import sys; from mlserver.cli import main; sys.argv[0] = 'mlserver'; main()"
        return ["-c", start, "start", str(tmp_path / "models")]

    with served(folder, command=command) as running, grpcclient.InferenceServerClient(running.grpc) as client:
        x = np.arange(8, dtype="float32").reshape(2, 4)
        np.testing.assert_allclose(ask(client, grpcclient, x, "sums"), expected(x), rtol=1e-5)


def test_whole_numbers_on_both_sides_of_two_to_the_63(tmp_path):
    from gluonx.export import InputSpec, save_artifact

    folder = save_artifact(tmp_path / "wide", lambda params, n: n + 0, {}, [InputSpec("n", ("b",), "uint64")])
    with served(folder) as running:

        def answer(*data):
            sent = {"inputs": [{"name": "n", "shape": [len(data)], "datatype": "UINT64", "data": data}]}
            return running.post("/v2/models/wide/infer", json.dumps(sent).encode())

        for numbers in ([2**64 - 1, 1, 2], [2**53 + 1, 2**63 + 1], [2**64 - 1], [0, 1]):
            status, told = answer(*numbers)
            assert status == 200 and json.loads(told)["outputs"][0]["data"] == numbers
        for numbers in ([2**64 - 1, -1], [-1], [2**64 - 1, 1.0], [True, 2**64 - 1, 1]):
            status, told = answer(*numbers)
            assert status == 400 and "input 'n'" in told


def test_many_inputs_and_types_that_the_protocol_lacks(tmp_path):
    from gluonx.export import InputSpec, save_artifact

    def fn(params, images, more):
        return {"sum": images.astype("float32").sum(1) + more["half"].astype("float32"), "count": images * 2}

    specs = [InputSpec("images", ("b", 2), "uint8"), {"half": InputSpec("half", ("b",), "bfloat16")}]
    folder = save_artifact(tmp_path / "two", fn, {}, specs)
    with served(folder) as running:
        images = {"name": "images", "shape": [2, 2], "datatype": "UINT8", "data": [[1, 2], [3, 250]]}
        half = {"name": "half", "shape": [2], "datatype": "FP32", "data": [0.5, 1]}
        status, answer = running.post("/v2/models/two/infer", json.dumps({"inputs": [half, images]}).encode())
        outputs = {o["name"]: o for o in json.loads(answer)["outputs"]}
        assert (
            status == 200 and outputs["output0"]["data"] == [2, 4, 6, 244] and outputs["output1"]["data"] == [3.5, 254]
        )
        images["data"] = [[1, 2], [3, 256]]
        status, answer = running.post("/v2/models/two/infer", json.dumps({"inputs": [half, images]}).encode())
        assert status == 400 and "256 is out of the range of UINT8" in answer


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """An artifact of which one call takes some hundredths of a second."""
    from gluonx.export import InputSpec, save_artifact

    def fn(params, x):
        return jax.lax.fori_loop(0, 4000, lambda _, y: jnp.tanh(y @ params["w"]), x)

    weights = {"w": np.eye(512, dtype="float32")}
    return save_artifact(
        tmp_path_factory.mktemp("slow") / "slow", fn, weights, [InputSpec("data", ("b", 512), "float32")]
    )


def called(running, number, x):
    """Whether a call is answered: by gRPC if `number` is even, else by REST."""
    if number % 2:
        data = {"name": "data", "shape": [1, 512], "datatype": "FP32", "data": x.ravel().tolist()}
        try:
            return running.post("/v2/models/slow/infer", json.dumps({"inputs": [data]}).encode())[0] == 200
        except OSError:
            return False
    from tritonclient.utils import InferenceServerException

    with grpcclient.InferenceServerClient(running.grpc) as client:
        try:
            return ask(client, grpcclient, x, "slow").shape == (1, 512)
        except InferenceServerException:
            return False


def taken(running):
    """How many calls the server has begun."""
    lines = urllib.request.urlopen(running.metrics).read().decode().splitlines()
    counted = "grpc_server_started_total{", "rest_server_requests_in_progress{", "rest_server_requests_total{"
    return sum(float(line.split()[-1]) for line in lines if line.startswith(counted) and "health" not in line)


@pytest.mark.parametrize("signals", [1, 2])
def test_what_was_taken_is_answered_before_the_end(slow, signals):
    x = np.full((1, 512), 0.1, "float32")
    with served(slow, "--max-batch", "1", "--grace", "300") as running, ThreadPoolExecutor(100) as pool:
        assert called(running, 0, x) and called(running, 1, x)
        calls = [pool.submit(called, running, i, x) for i in range(100)]
        until = time.monotonic() + 60
        while taken(running) < 102 and time.monotonic() < until:
            time.sleep(0.05)
        running.process.terminate()
        time.sleep(0.3)
        assert not all(call.done() for call in calls)
        assert not called(running, 0, x) and not called(running, 1, x)  # nothing new
        if signals == 2:
            running.process.terminate()
        answered = [call.result() for call in calls]
        assert running.process.wait(60) == 0
        assert all(answered) == (signals == 1), answered.count(False)  # a second signal means now


def test_the_page_on_serving_works_step_by_step(tmp_path):
    page = (ROOT / "docs" / "serving.md").read_text()
    [export] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    [client] = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", export], cwd=tmp_path, env=environment, check=True)
    assert "python -m gluonx.export.serve_model digits\n" in page
    with served(tmp_path / "digits") as running:
        *lines, last = client.replace("localhost:8081", running.grpc).strip().split("\n")
        code = "\n".join([*lines, f"print({last.partition('  #')[0]}.shape)"])
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "(3, 10)\n"
