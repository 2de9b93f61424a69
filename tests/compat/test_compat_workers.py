"""Worker processes of a program for MXNet: they can import it, and its transforms are given MXNet's arrays."""

import os
import subprocess
import sys

import pytest

from lib import ROOT

PROGRAM = """
import mxnet as mx
import numpy as np

class Pictures(mx.gluon.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, idx):
        return mx.nd.ones((4, 6, 3)) * idx, idx

def transform(data, label):
    assert isinstance(data, mx.nd.NDArray)
    return mx.nd.transpose(data, (2, 0, 1)) / 2, label

if __name__ == "__main__":
    for data, label in mx.gluon.data.DataLoader(Pictures().transform(transform), 2, num_workers=1):
        print(type(data).__name__, data.shape, data.asnumpy().max(), label.asnumpy().tolist())
"""


@pytest.mark.dear
def test_workers_import_a_program_for_mxnet(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = [sys.executable, "-m", "gluonx.compat", "--version", "1", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["NDArray (2, 3, 4, 6) 0.5 [0, 1]", "NDArray (2, 3, 4, 6) 1.5 [2, 3]"]
