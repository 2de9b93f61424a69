"""Have PyTorch compute the rows of `rows.py`: outputs, and gradients of the first input for the sum of their squares.

Run with a Python that has torch::

    /path/to/python tests/oracle/torch_layers/make_golden.py

Beside itself it writes ``golden.npz``.
"""

import pathlib

import numpy
import torch
from rows import ROWS, inputs
from torch import nn

found = {}
for name, (there, _, _, weights) in ROWS.items():
    torch.manual_seed(0)
    layer = eval(there, {"nn": nn, "torch": torch})
    arrays = [torch.from_numpy(a) for a in inputs(name)]
    if "Loss" in name and "Entropy" not in name and name != "NLLLoss" and "CTC" not in name:
        arrays = [a.float() for a in arrays]
    if arrays[0].is_floating_point():
        arrays[0].requires_grad_()
    for parameter in getattr(layer, "parameters", lambda: ())():
        torch.nn.init.normal_(parameter)
    out = layer(*arrays)
    for ours, theirs in weights.items():
        found[f"{name}/{ours}"] = getattr(layer, theirs).detach().numpy()
    found[f"{name}/out"] = out.detach().numpy()
    if arrays[0].is_floating_point():
        out.square().sum().backward()
        found[f"{name}/grad"] = arrays[0].grad.numpy()
numpy.savez_compressed(pathlib.Path(__file__).parent / "golden.npz", **found)
