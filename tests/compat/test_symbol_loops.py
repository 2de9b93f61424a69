"""Loops and branches made of symbols, run, taken to files and back, differentiated; against the same on arrays."""

import json

import numpy as onp
import pytest

from gluonx import autograd, nd, np, sym
from gluonx.compat import symbol as symbols
from gluonx.errors import FormatError


def again(symbol):
    """The symbol as it comes back from a file."""
    return symbols.fromjson(symbol.tojson())


def looped():
    x, w, s = sym.var("x"), sym.var("w"), sym.var("s")
    scaled = w * 2  # made outside, used inside

    def body(item, states):
        new = sym.tanh(item * scaled + states[0])
        return [new, item + 1], [new]

    return sym.contrib.foreach(body, x, [s])


def test_foreach_is_the_loop_on_arrays():
    (first, second), (last,) = looped()
    x, w, s = (onp.random.RandomState(i).rand(*shape).astype("f4") for i, shape in enumerate([(4, 3), (3,), (3,)]))
    group = sym.Group([first, second, last])
    assert group.list_arguments() == ["x", "s", "w"]

    def step(item, states):
        new = nd.tanh(item * (nd.array(w) * 2) + states[0])
        return [new, item + 1], [new]

    wanted, wanted_states = nd.contrib.foreach(step, nd.array(x), [nd.array(s)])
    for symbol in (group, again(group)):
        outs = symbol.eval(x=np.array(x), w=np.array(w), s=np.array(s))
        for found, value in zip(outs, [*wanted, *wanted_states], strict=True):
            onp.testing.assert_allclose(found.asnumpy(), value.asnumpy(), 1e-6)


@pytest.mark.dear
def test_gradients_and_shapes():
    (first, _), (last,) = looped()
    loss = sym.sum(first) + sym.sum(last)
    shapes, outs, _ = loss.infer_shape(x=(4, 3), w=(3,), s=(3,))
    assert shapes == [(4, 3), (3,), (3,)] and outs == [(1,)]
    bound = loss.simple_bind(x=(4, 3), w=(3,), s=(3,))
    values = {n: onp.random.RandomState(7).rand(*a.shape).astype("f4") for n, a in bound.arg_dict.items()}
    bound.forward(is_train=True, **{n: np.array(v) for n, v in values.items()})
    bound.backward()
    arrays = {n: np.array(v) for n, v in values.items()}
    for a in arrays.values():
        a.attach_grad()
    with autograd.record():
        state, total = arrays["s"], 0
        for t in range(4):
            state = np.tanh(arrays["x"][t] * (arrays["w"] * 2) + state)
            total = total + state.sum()
        total = total + state.sum()
    total.backward()
    for n, a in arrays.items():
        onp.testing.assert_allclose(bound.grad_dict[n].asnumpy(), a.grad.asnumpy(), 1e-5, 1e-6, err_msg=n)


def test_while_loop():
    i, total, limit = sym.var("i"), sym.var("total"), sym.var("limit")
    outs, (last, _) = sym.contrib.while_loop(
        cond=lambda i, total: i < limit, func=lambda i, total: (total * 10, [i + 1, total + i]),
        loop_vars=[i, total], max_iterations=6,
    )  # fmt: skip
    group = sym.Group([outs, last])
    for symbol in (group, again(group)):
        found = symbol.eval(i=np.array([1.0]), total=np.array([0.0]), limit=np.array([4.0]))
        assert found[0].asnumpy()[:3, 0].tolist() == [0, 10, 30] and found[1].asnumpy().tolist() == [4]


@pytest.mark.parametrize(("value", "wanted"), [(1.0, 12.0), (-1.0, 2.5)])
def test_cond(value, wanted):
    p, a = sym.var("p"), sym.var("a")
    doubled = a * 2
    out = sym.contrib.cond(p > 0, lambda: doubled + 2, lambda: a / 2)
    for symbol in (out, again(out)):
        found = symbol.eval(p=np.array([value]), a=np.array([5.0]))
        assert found[0].asnumpy().tolist() == [wanted]


def test_what_a_body_must_give():
    x, s = sym.var("x"), sym.var("s")
    with pytest.raises(ValueError, match="got 1 states, but gave 2"):
        sym.contrib.foreach(lambda item, state: (item, [state, state]), x, s)
    with pytest.raises(ValueError, match="plays no part"):
        sym.contrib.foreach(lambda item, state: (item, item), x, s)
    with pytest.raises(ValueError, match="max_iterations must be given"):
        sym.contrib.while_loop(lambda a: a, lambda a: (a, a), x)
    with pytest.raises(ValueError, match="then_func gives 1 symbols, else_func 2"):
        sym.contrib.cond(x, lambda: x, lambda: [x, s])
    with pytest.raises(TypeError, match="data must be a symbol"):
        sym.contrib.foreach(lambda item, state: (item, state), 3, s)


@pytest.mark.parametrize("name", ["pow", "power", "maximum", "minimum", "hypot"])
def test_functions_of_symbols_and_numbers(name):
    a, b = sym.var("a"), sym.var("b")
    plain = {"pow": onp.power, "power": onp.power}.get(name) or getattr(onp, name)
    make, values = getattr(sym, name), {"a": onp.array([1.5, 2.0]), "b": onp.array([0.5, 3.0])}
    for out, wanted in (
        (make(a, b), plain(values["a"], values["b"])),
        (make(a, 2), plain(values["a"], 2.0)),
        (make(2, a), plain(2.0, values["a"])),
    ):
        given = {n: np.array(values[n]) for n in out.list_arguments()}
        onp.testing.assert_allclose(out.eval(**given)[0].asnumpy(), wanted, 1e-6)
    assert make(2, 3) == plain(2, 3)


def test_a_file_without_an_input_that_its_attributes_ask_for_is_refused():
    text = sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc").tojson()
    graph = json.loads(text)
    graph["nodes"][-1]["inputs"] = graph["nodes"][-1]["inputs"][:2]
    with pytest.raises(FormatError, match=r"node 'fc' \(FullyConnected\) has 2 inputs"):
        symbols.fromjson(json.dumps(graph))
    graph["nodes"][-1]["attrs"]["no_bias"] = "True"
    assert symbols.fromjson(json.dumps(graph)).list_arguments() == ["x", "fc_weight"]


def test_bound_shapes_of_unknown_names_are_refused():
    with pytest.raises(ValueError, match="no variable 'dta'"):
        sym.FullyConnected(sym.var("x"), num_hidden=2).simple_bind(dta=(2, 3))


@pytest.mark.parametrize("name", ["exponential", "gamma", "normal"])
def test_draws_have_the_dtype_that_was_asked_for(name):
    assert getattr(nd.random, name)(shape=(2,), dtype="float16").dtype == "float16"
