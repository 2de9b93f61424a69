"""Run `cases` with MXNet 2.0 and write golden.json, data.npz, and the record files beside them.

Runs in the oracle's venv, with OpenCV for the images: ``PYTHONPATH=/path/to/opencv python make.py``.
"""

import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile

import cv2
import mxnet as mx
import numpy as np
from cases import HEADERS, ITERATORS, RECORDS, parameters, write_inputs
from mxnet import recordio

HERE = pathlib.Path(__file__).parent
mx.npx.reset_np()  # arrays of csr have no parts else


def picture(i):
    """A smooth picture with a mark in its corner; small as a PNG."""
    rows, columns = np.mgrid[: 12 + i, : 10 + 2 * i]
    planes = [128 + 100 * np.sin(rows / (3 + c) + i) * np.cos(columns / (2 + c)) for c in range(3)]
    image = (np.stack(planes, -1) / 8).astype(np.uint8) * 8
    image[:4, :4] = (i * 20, 255 - i * 20, i)
    return image


def write_images():
    images = recordio.MXIndexedRecordIO(str(HERE / "images.idx"), str(HERE / "images.rec"), "w")
    for i in range(10):
        images.write_idx(i, recordio.pack_img((0, float(i), 100 + i, 0), picture(i), img_fmt=".png", quality=9))
    images.close()


def framed(folder):
    record = recordio.MXRecordIO(str(folder / "framed.rec"), "w")
    for one in RECORDS:
        record.write(one)
    record.close()
    return (folder / "framed.rec").read_bytes().hex()


def dense(array):
    if array.stype != "csr":
        return array.asnumpy()
    found = np.zeros(array.shape, array.dtype)
    begins, indices, values = array.indptr.asnumpy(), array.indices.asnumpy(), array.data.asnumpy()
    for row in range(len(found)):
        found[row, indices[begins[row] : begins[row + 1]]] = values[begins[row] : begins[row + 1]]
    return found


def described(descriptions):
    return [[d.name, list(d.shape), np.dtype(d.dtype).name] for d in descriptions]


def run(name, folder):
    kind, given, epochs = ITERATORS[name]
    iterator = getattr(mx.io, kind)(**parameters(given, folder))
    batches, first = [], None
    for epoch in range(epochs):
        if epoch:
            iterator.reset()
        batches.append([])
        for batch in iterator:
            data = dense(batch.data[0])
            first = data if first is None else first
            index = None if batch.index is None else np.asarray(batch.index).tolist()
            batches[-1].append([dense(batch.label[0]).tolist(), batch.pad, index, str(data.dtype)])
    told = {"data": described(iterator.provide_data), "label": described(iterator.provide_label), "epochs": batches}
    return told, first


def forked(name, folder):
    """Run in a child, for MXNet ends the process over errors in its threads."""
    path = folder / "result.pickle"
    child = os.fork()
    if child == 0:
        path.write_bytes(pickle.dumps(run(name, folder)))
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"{name} failed")
    return pickle.loads(path.read_bytes())


def lists_and_records(folder):
    """Run MXNet's im2rec on a folder."""
    tool = pathlib.Path(mx.__file__).parent / "tools" / "im2rec.py"
    root = folder / "root"
    for place, path in enumerate(("b/4.png", "a/1.png", "a/sub/3.PNG", "a/2.png", "b/5.png", "6.png")):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(root / path), picture(place)[:, :8], [cv2.IMWRITE_PNG_COMPRESSION, 9])
    found = {}
    runs = {
        "plain": ["--recursive", "--no-shuffle"],
        "flat": ["--no-shuffle"],
        "shuffled": ["--recursive"],
        "split": ["--recursive", "--no-shuffle", "--train-ratio", "0.5", "--test-ratio", "0.25"],
        "chunks": ["--recursive", "--no-shuffle", "--chunks", "2", "--train-ratio", "0.7"],
    }
    for name, options in runs.items():
        subprocess.run([sys.executable, tool, folder / name, root, "--list", *options], check=True, capture_output=True)
        found[name] = {p.name: p.read_text() for p in sorted(folder.glob(f"{name}*.lst"))}
    packed = {
        "pass": ["--pass-through"],
        "small": ["--resize", "10", "--encoding", ".png", "--quality", "9"],
        "square": ["--center-crop", "--encoding", ".png", "--quality", "9"],
        "gray": ["--color", "0", "--encoding", ".png", "--quality", "9"],
    }
    for name, options in packed.items():
        shutil.copy(folder / "plain.lst", folder / f"{name}.lst")
        subprocess.run([sys.executable, tool, folder / name, root, *options], check=True, capture_output=True)
        record = recordio.MXIndexedRecordIO(str(folder / f"{name}.idx"), str(folder / f"{name}.rec"), "r")
        rows = []
        for key in record.keys:
            header, content = recordio.unpack(record.read_idx(key))
            image = cv2.imdecode(np.frombuffer(content, np.uint8), -1)
            rows.append([key, header.label, header.id, list(image.shape), int(image.astype(int).sum())])
        found[f"packed {name}"] = rows
    return found


def main():
    write_images()
    golden, data = {"packed": [recordio.pack(header, b"payload").hex() for header in HEADERS]}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        golden["framed"] = framed(folder)
        write_inputs(folder, HERE / "images", recordio)
        golden["iterators"] = {}
        for case in ITERATORS:
            golden["iterators"][case], first = forked(case, folder)
            if first is not None:
                whole = first.dtype == np.float32 and (first == first.astype(np.uint8)).all()
                data[case] = first.astype(np.uint8) if whole else first
        golden["im2rec"] = lists_and_records(folder)
    (HERE / "golden.json").write_text(json.dumps(golden) + "\n", encoding="utf-8")
    np.savez_compressed(HERE / "data.npz", **data)


if __name__ == "__main__":
    main()
