"""No test changes what another one of its process sees."""

import importlib

import pytest

import gluonx
from gluonx import init, metric
from gluonx.ops import registry
from gluonx.optimizer import Optimizer
from lib import registered


def test_what_a_test_registers_is_gone_after_it():
    with registered.alone():

        @init.register
        class Unheard(init.Initializer):
            pass

        @gluonx.optimizer.register
        class OfNoOther(Optimizer):
            pass

        @metric.register
        class Acc(metric.Accuracy):
            pass

        registry.register("unheard")(lambda x: x)
        assert type(metric.create("acc")) is Acc and type(init.create("unheard")) is Unheard
    assert type(metric.create("acc")) is metric.Accuracy
    with pytest.raises(ValueError, match="No initializer is called 'unheard'"):
        init.create("unheard")
    assert "ofnoother" not in Optimizer.opt_registry and "unheard" not in registry.OPS


@pytest.mark.parametrize("place", registered.TABLES, ids=str)
def test_what_a_module_registers_stays(place):
    """A test may be the first to import it, which happens once in a process."""
    importlib.import_module(place[0])
    table = dict(registered._tables())[place]
    before = dict(table)
    try:
        table.clear()
        with registered.alone():
            table.update(before)
        assert set(table) == set(before)
    finally:
        table.update(before)
