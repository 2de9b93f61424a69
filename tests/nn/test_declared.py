"""Constructors that are declared: what callers, subclasses, pickles and MXNet 1's keywords see of them."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from dataclasses import InitVar

import pytest

from gluonx import nn, np, rnn
from gluonx.block.declared import declared
from lib import ROOT


def test_a_signature_is_the_base_s_with_the_defaults_of_the_class():
    one, two = inspect.signature(nn.Conv1D), inspect.signature(nn.Conv2D)
    assert list(one.parameters) == list(two.parameters)
    assert [p.default for p in two.parameters.values()][2:7] == [(1, 1), (0, 0), (1, 1), 1, "NCHW"]
    assert [p.default for p in one.parameters.values()][2:7] == [1, 0, 1, 1, "NCW"]
    assert str(inspect.signature(nn.GlobalAvgPool3D)) == "(layout: 'str' = 'NCDHW') -> 'None'"


def test_what_a_constructor_takes_is_no_attribute():
    """A default on the class would be read as the value of an instance that was made with another."""
    layer = nn.Conv2D(4, 3, strides=2, layout="NHWC")
    for name in inspect.signature(nn.Conv2D).parameters:
        assert not hasattr(layer, name), name


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Conv2D(4), "Conv2D: missing a required argument: 'kernel_size'"),
        (lambda: nn.MaxPool1D(2, 2, 0, "NCW", False, 1), "MaxPool1D: too many positional arguments"),
        (lambda: nn.Conv2D(4, 3, kernel_size=3), "Conv2D: multiple values for argument 'kernel_size'"),
        (
            lambda: nn.Conv2D(4, 3, stride=2),
            "Conv2D got an unexpected keyword argument 'stride'; did you mean 'strides'",
        ),
    ],
    ids=["missing", "too-many", "twice", "unknown"],
)
def test_a_wrong_call_is_told_by_the_layer_s_name(make, text):
    with pytest.raises(TypeError, match=text):
        make()


def test_a_subclass_may_have_a_constructor_of_its_own_or_defaults_of_its_own():
    class Thin(nn.Conv2D):
        def __init__(self, channels):
            super().__init__(channels, 1, use_bias=False)

    @declared
    class Strided(nn.Conv2D):
        strides: InitVar[tuple[int, int]] = (2, 2)

    x = np.ones((1, 3, 5, 5))
    for layer, shape in ((Thin(2), (1, 2, 5, 5)), (Strided(2, 3), (1, 2, 2, 2)), (Strided(2, 3, 1), (1, 2, 3, 3))):
        layer.initialize()
        assert layer(x).shape == shape
    assert Thin(2).bias is None


def test_a_mixin_stands_between_the_declared_class_and_the_base():
    cell = rnn.Conv2DLSTMCell((3, 8, 8), 2, 3, 3, 1)
    assert [info["shape"] for info in cell.state_info(4)] == [(4, 2, 8, 8)] * 2


def test_declared_layers_are_pickled():
    layer = nn.Conv2D(2, 3, in_channels=1, activation="relu")
    layer.initialize()
    x = np.ones((1, 1, 4, 4))
    again = pickle.loads(pickle.dumps(layer))
    assert repr(again) == repr(layer)
    assert (again(x) == layer(x)).all()


@pytest.mark.dear
def test_layers_declared_after_mxnet_1_came_take_its_keywords():
    code = (
        "import gluonx.compat.prefixes as p; p.activate(); from gluonx import nn, rnn;"
        "print(nn.Conv2D(2, 3, prefix='a_').weight.name, rnn.Conv1DGRUCell((1, 4), 2, 1, 1, prefix='b_').prefix)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == ["a_weight", "b_"]
