"""Errors are of the classes that `except` clauses of programs for MXNet (2.0.0b1 and 1.9.1) and NumPy name."""

import pytest

from gluonx import Device, gluon, initializer, nd, nn, np
from gluonx.errors import MXNetError

X = (2, 3)
# what raises, and every class that some program catches there: MXNet's, then NumPy's
CAUGHT = {
    "float": (lambda: float(np.ones(X)), (TypeError, ValueError)),
    "float of none": (lambda: float(np.zeros((0,))), (TypeError,)),
    "int": (lambda: int(np.ones(X)), (TypeError, ValueError)),
    "complex": (lambda: complex(np.ones(X)), (TypeError,)),
    "float nd": (lambda: float(nd.ones(X)), (TypeError,)),
    "item": (lambda: np.ones(X).item(), (ValueError,)),
    "string index": (lambda: np.ones(X)["a"], (ValueError, IndexError)),
    "string index nd": (lambda: nd.ones(X)["a"], (ValueError,)),
    "float index": (lambda: np.ones(X)[1.5], (ValueError, IndexError)),
    "write by a string": (lambda: np.ones(X).__setitem__("a", 1), (ValueError, IndexError)),
    "index out of range": (lambda: np.ones(X)[5], (IndexError,)),
    "device": (lambda: Device("foo"), (KeyError, ValueError)),
    "concatenate nothing": (lambda: np.concatenate([]), (MXNetError, ValueError)),
    "stack nothing": (lambda: np.stack([]), (MXNetError, ValueError)),
    "ragged": (lambda: np.array([[1], [1, 2]]), (TypeError, ValueError)),
    "dtype": (lambda: np.zeros((2,), dtype="foo"), (MXNetError, TypeError)),
    "child": (lambda: nn.HybridSequential().add(3), (ValueError, TypeError)),
    "initializer": (lambda: initializer.create(3), (AssertionError, TypeError)),
    "parameter": (lambda: gluon.Parameter("a", shape=(2,)).data(), (RuntimeError,)),
}


@pytest.mark.parametrize("name", CAUGHT)
def test_the_error_is_caught(name):
    call, classes = CAUGHT[name]
    with pytest.raises(Exception) as caught:
        call()
    assert [cls for cls in classes if not isinstance(caught.value, cls)] == []
    assert str(caught.value)[:1] not in "'\""  # a KeyError would show its repr
