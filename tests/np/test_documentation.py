"""What ``help`` shows of the functions of `np` and `npx`: enough to use them, and true."""

import ast
import doctest
import inspect

import numpy as onp
import pytest

from gluonx import np, npx
from gluonx.np import documentation
from gluonx.ops import OPS
from lib.rows import every
from tools import api_pages

RECORDED = {name: op for name, op in OPS.items() if "." not in name}
FUNCTIONS = {
    **{f"npx.{name}": getattr(npx, name) for name in sorted(RECORDED)},
    **{f"np.{name}": getattr(np, name) for name in sorted(np.functions.__all__)},
    **{f"np.linalg.{name}": getattr(np.linalg, name) for name in sorted(np.linalg.__all__) if name != "LinAlgError"},
    **{f"np.fft.{name}": getattr(np.fft, name) for name in sorted(np.fft.__all__)},
}
MADE = {name: f for name, f in FUNCTIONS.items() if "Where to write the result" in (f.__doc__ or "")}


def close(found, wanted):
    if isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    return found == wanted or onp.isclose(found, wanted, 1e-3, 1e-6, equal_nan=True)


def value(text):
    return eval(text, {"nan": float("nan"), "inf": float("inf"), "dtype": onp.dtype, "array": onp.array})


@pytest.mark.parametrize("name", MADE)
def test_the_example_runs(name):
    """Each page has one, in which it is called; what it shows is what it gives."""
    examples = doctest.DocTestParser().get_examples(MADE[name].__doc__)
    assert examples, f"{name} has no example"
    words, scope = set(), {}
    for example in examples:
        tree = ast.parse(example.source)
        words |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        words |= {alias.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for alias in n.names}
        if example.want:
            assert close(eval(example.source, scope), value(example.want)), example.source
        else:
            exec(example.source, scope)
    op = RECORDED.get(name.rpartition(".")[2])
    if op is None or op.__module__.startswith("gluonx.ops"):  # the others are what functions of `np` are made of
        called = {name.rpartition(".")[2], *((op.name, *op.aliases) if op is not None else ())}
        assert words & called


def told(page):
    """The parameters of a page, each with its type and its text."""
    found, head = {}, ""
    for line in page.partition("Parameters\n----------\n")[2].partition("\n\n")[0].splitlines():
        if line[:1].strip():
            head = line
        for word in head.partition(" : ")[0].split(", "):
            found[word.strip("* ")] = found.get(word.strip("* "), head.partition(" : ")[2]) + line[:1].isspace() * line
    return found


def tells_of_each_parameter(name):
    texts = told(MADE[name].__doc__)
    ignored = np.table.IGNORED | np.table.TAKEN | {"out"}
    parameters = {p.lstrip("*") for p in inspect.signature(MADE[name]).parameters} - ignored
    assert not parameters - texts.keys()
    silent = [p for p in parameters if "    " not in texts[p] and "shape" not in texts[p]]
    assert not silent, "a parameter without a text, or a type that says its shape"


def test_each_parameter_is_told_of():
    every(tells_of_each_parameter, MADE)


def test_a_word_has_one_meaning():
    """A parameter with a text of its own in a record is not told of by the common table in another sense."""
    assert "shape parameter" in npx.random_gamma.__doc__
    assert "added to the normalized" not in npx.swish.__doc__ + npx.hard_sigmoid.__doc__ + npx.lrn.__doc__
    assert "diagonal" not in np.rot90.__doc__ + npx.random_negative_binomial.__doc__
    assert "probability" not in np.polyval.__doc__ + np.unwrap.__doc__ + np.linalg.cond.__doc__
    used = {word for function in MADE.values() for word in told(function.__doc__)}
    assert not [word for word in documentation.WORDS if word not in used and word not in ("x", "a")]


PLACES = {
    "np": np,
    "npx": npx,
    "np.linalg": np.linalg,
    "np.fft": np.fft,
    "np.random": np.random,
    "npx.image": npx.image,
}
PUBLIC = {
    f"{place}.{name}": inspect.unwrap(getattr(home, name))
    for place, home in PLACES.items()
    for name in dir(home)
    if inspect.isfunction(getattr(home, name)) and name[0] != "_"
}
OURS = {name: f for name, f in PUBLIC.items() if (f.__module__ or "").startswith("gluonx")}


def test_every_function_says_what_it_returns():
    assert len(OURS) > 1000
    silent = [name for name, f in OURS.items() if "Returns\n-------" not in inspect.cleandoc(f.__doc__ or "")]
    assert [name for name in silent if inspect.signature(OURS[name]).return_annotation != "None"] == []


def test_no_two_functions_have_the_same_page():
    """But for names of one operator."""
    pages = {}
    for name, function in MADE.items():
        op = RECORDED.get(name.rpartition(".")[2], name)
        pages.setdefault(function.__doc__.partition("Other names:")[0], set()).add(getattr(op, "name", op))
    assert [names for names in pages.values() if len(names) > 1] == []


def test_no_page_claims_a_function_that_numpy_does_not_have():
    wrong = []
    for name, function in FUNCTIONS.items():
        for word in (function.__doc__ or "").split("``"):
            if word.startswith("numpy.") and word.replace(".", "").isidentifier():
                home, _, last = word.removeprefix("numpy.").rpartition(".")
                if last not in dir(getattr(onp, home) if home else onp):
                    wrong.append((name, word))
    assert wrong == []


def test_the_reference_has_every_function():
    text = api_pages.page(api_pages.Page("Operators of nets: npx", "gluonx.npx"))
    assert [name for name in RECORDED if f"``{name}``" not in text and f":: {name}\n" not in text] == []


def test_help_says_which_axis_is_which():
    text = npx.dot_product_attention.__doc__
    assert "query : ndarray, shape (batch, queries, heads, width)" in text
    assert "keys : ndarray, shape (batch, keys, key_heads, width)" in text


def test_pages_of_np_say_what_comes_out():
    """A record of a function of `np` names the shape of the result, or its docstring describes the results."""
    made = [name for name in MADE if name.startswith("np.")]
    assert len(made) > 250
    assert not [name for name in made if "\nReturns\n-------\n" not in MADE[name].__doc__]


def test_a_page_begins_with_the_thing_or_a_verb():
    """Also where a record's row or a table says it, and no docstring in a file."""
    first = {name: (function.__doc__ or "").partition(" ")[0] for name, function in FUNCTIONS.items()}
    asks = {"What", "Where", "Whether", "How", "That", "Which", "When"}
    assert not [name for name, word in first.items() if word in asks]
