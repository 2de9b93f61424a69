"""Random nets of all kinds of layers, as plans: lists of steps in plain data, of which a net is built anywhere.

A plan is made by :func:`plan_of` and tells every array's shape behind the batch. :func:`net_class` gives the block that
takes a plan, of the namespaces that it is handed: gluonx's, or MXNet's, whose Python reads this file too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

__all__ = ["inputs_of", "net_class", "plan_of"]

Plan = dict[str, Any]
_ACTIVATIONS = ["relu", "sigmoid", "tanh", "softrelu", "softsign"]
_UNARY = ["exp", "tanh", "square", "abs", "sin", "negative", "arctan", "log1p_abs", "clip", "cumsum", "roll"]


class _Planner:
    """A plan that grows: `shapes` and `kinds` ('f' or 'i') of the values so far, and the steps that make them."""

    def __init__(self, numbers: onp.random.RandomState, without: frozenset[str], mxnet: bool) -> None:
        self.numbers, self.mxnet = numbers, mxnet
        self.shapes: list[list[int]] = []
        self.kinds: list[str] = []
        self.steps: list[dict[str, Any]] = []
        self.makers = [
            make for name, make in vars(_Planner).items() if name.startswith("make_") and name[5:] not in without
        ]

    def draw(self, *choices: Any) -> Any:
        return choices[self.numbers.randint(len(choices))]

    def size(self, low: int, high: int) -> int:
        return int(self.numbers.randint(low, high + 1))

    def value(self, fits: Callable[[list[int]], bool] = lambda shape: True, kind: str = "f") -> int | None:
        """Return one of the values that fit, late ones more often than early ones."""
        found = [i for i, (s, k) in enumerate(zip(self.shapes, self.kinds, strict=True)) if k == kind and fits(s)]
        return found[-1 - min(int(self.numbers.geometric(0.6)) - 1, len(found) - 1)] if found else None

    def add(self, what: str, of: list[int], *shapes: list[int], kind: str = "f", **how: Any) -> None:
        self.steps.append({"what": what, "of": of, "gives": len(shapes), **how})
        self.shapes += [list(shape) for shape in shapes]
        self.kinds += [kind] * len(shapes)

    def layer(self, name: str, of: int, shape: list[int], *args: Any, **kwargs: Any) -> None:
        self.add("layer", [of], shape, name=name, args=list(args), kwargs=kwargs)

    # -- layers of images ----------------------------------------------------------------------------------------------

    def image(self) -> tuple[int, int, int, list[int]] | None:
        """Return a value with channels and places: its number, how many axes, channels and places it has."""
        i = self.value(lambda s: 2 <= len(s) <= 4)
        return None if i is None else (i, len(self.shapes[i]) - 1, self.shapes[i][0], self.shapes[i][1:])

    def make_convolution(self) -> None:
        if (found := self.image()) is None:
            return
        i, axes, channels, places = found
        groups = self.draw(*[g for g in (1, 1, 2, 3) if channels % g == 0])
        out = groups * self.size(1, 3)
        dilation = [self.size(1, 2) for _ in places]
        padding = [self.size(0, 2) for _ in places]
        strides = [self.size(1, 2) for _ in places]
        kernel = [self.size(1, 3) for _ in places]
        full = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
        after = [(s + 2 * p - f) // t + 1 for s, p, f, t in zip(places, padding, full, strides, strict=True)]
        if min(s + 2 * p - f for s, p, f in zip(places, padding, full, strict=True)) < 0:
            return
        self.layer(
            f"Conv{axes}D", i, [out, *after], out, kernel, strides=strides, padding=padding, dilation=dilation,
            groups=groups, use_bias=self.draw(True, False), in_channels=self.draw(0, channels),
            activation=self.draw(None, None, "relu"),
        )  # fmt: skip

    def make_transposed(self) -> None:
        if (found := self.image()) is None or max(found[3]) > 8:
            return
        i, axes, channels, places = found
        groups = self.draw(*[g for g in (1, 1, 2, 3) if channels % g == 0])
        out = groups * self.size(1, 2)
        kernel = [self.size(1, 3) for _ in places]
        strides = [self.size(1, 2) for _ in places]
        padding = [self.size(0, (k - 1) // 2) for k in kernel]
        dilation = [1 if self.mxnet else self.size(1, 2) for _ in places]
        extra = [self.size(0, t - 1) for t in strides]
        full = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
        after = [
            (s - 1) * t + f - 2 * p + e for s, t, f, p, e in zip(places, strides, full, padding, extra, strict=True)
        ]
        if min(after) < 1:
            return
        self.layer(
            f"Conv{axes}DTranspose", i, [out, *after], out, kernel, strides=strides, padding=padding,
            output_padding=extra, dilation=dilation, groups=groups, use_bias=self.draw(True, False),
        )  # fmt: skip

    def make_pool(self) -> None:
        if (found := self.image()) is None:
            return
        i, axes, channels, places = found
        kind = self.draw("Max", "Avg")
        if self.size(0, 4) == 0:
            self.layer(f"Global{kind}Pool{axes}D", i, [channels] + [1] * axes)
            return
        pool = [self.size(1, min(3, s)) for s in places]
        strides = [self.size(1, 3) for _ in places]
        padding = [self.size(0, k // 2) for k in pool]
        ceil = self.draw(True, False)
        after = []
        for s, k, t, p in zip(places, pool, strides, padding, strict=True):
            room = s + 2 * p - k
            size = -(-room // t) + 1 if ceil else room // t + 1
            if ceil and (size - 1) * t >= s + p:  # a window that begins in the padding: libraries differ
                return
            after.append(size)
        also = {"count_include_pad": self.draw(True, False)} if kind == "Avg" else {}
        self.layer(
            f"{kind}Pool{axes}D", i, [channels, *after], pool, strides=strides, padding=padding, ceil_mode=ceil, **also
        )

    def make_norm(self) -> None:
        if (i := self.value(lambda s: len(s) >= 1)) is None:
            return
        shape = self.shapes[i]
        name = self.draw("BatchNorm", "BatchNorm", "LayerNorm", "GroupNorm", "InstanceNorm")
        both = {"center": self.draw(True, False), "scale": self.draw(True, False), "epsilon": self.draw(1e-5, 1e-2)}
        if name == "GroupNorm":
            both["num_groups"] = self.draw(*[g for g in (1, 2, 3) if shape[0] % g == 0])
            if self.mxnet:
                return  # its gamma is one a channel in 2.0, and files of 1.9 have one a group
        if name == "BatchNorm":
            both |= {"axis": self.draw(1, 1, len(shape)), "use_global_stats": self.draw(False, False, True)}
            both["momentum"] = self.draw(0.9, 0.5)
        if name == "LayerNorm":
            both["axis"] = self.draw(-1, -1, 1)
        if name in ("GroupNorm", "InstanceNorm") and len(shape) < 2:
            return
        self.layer(name, i, shape, **both)

    def make_rearranged(self) -> None:
        i = self.value(lambda s: len(s) == 3 and s[0] % 4 == 0)
        if i is not None:
            c, h, w = self.shapes[i]
            self.layer("PixelShuffle2D", i, [c // 4, 2 * h, 2 * w], 2)
        elif (i := self.value(lambda s: len(s) == 3 and min(s[1:]) > 1)) is not None:
            c, h, w = self.shapes[i]
            self.layer("ReflectionPad2D", i, [c, h + 2, w + 2], 1)

    # -- layers of anything --------------------------------------------------------------------------------------------

    def make_dense(self) -> None:
        if (i := self.value(lambda s: len(s) >= 1)) is None:
            return
        shape, units = self.shapes[i], self.size(1, 6)
        flatten = self.draw(True, False)
        self.layer(
            "Dense", i, [units] if flatten else [*shape[:-1], units], units, flatten=flatten,
            use_bias=self.draw(True, False), activation=self.draw(None, "relu", "tanh"),
            in_units=self.draw(0, int(onp.prod(shape)) if flatten else shape[-1]),
        )  # fmt: skip

    def make_activation(self) -> None:
        if (i := self.value()) is None:
            return
        name, args = self.draw(
            *[("Activation", [a]) for a in _ACTIVATIONS], ("LeakyReLU", [0.1]), ("PReLU", []), ("ELU", [0.7]),
            ("SELU", []), ("GELU", []), ("Swish", [1.5]), ("SiLU", []), ("Dropout", [0.4]), ("Identity", []),
        )  # fmt: skip
        self.layer(name, i, self.shapes[i], *args)

    def make_flatten(self) -> None:
        if (i := self.value(lambda s: len(s) >= 2)) is not None:
            self.layer("Flatten", i, [int(onp.prod(self.shapes[i]))])

    def make_embedding(self) -> None:
        if (i := self.value(lambda s: len(s) <= 2, "i")) is not None:
            width = self.size(2, 4)
            self.layer("Embedding", i, [*self.shapes[i], width], 9, width)

    def make_recurrent(self) -> None:
        if (i := self.value(lambda s: len(s) == 2)) is None:
            return
        length, width = self.shapes[i]
        hidden, layers, both = self.size(2, 4), self.size(1, 2), self.draw(True, False)
        name = self.draw("RNN", "LSTM", "GRU")
        how: dict[str, Any] = {"num_layers": layers, "bidirectional": both, "dropout": self.draw(0, 0.3)}
        how["input_size"] = self.draw(0, width)
        if name == "RNN":
            how["activation"] = self.draw("relu", "tanh")
        out = hidden
        if name == "LSTM" and self.size(0, 3) == 0 and not self.mxnet:
            how["projection_size"] = out = hidden - 1
        shapes = [[length, out * (1 + both)]]
        states = self.draw(0, 0, 1) and (2 if name == "LSTM" else 1)
        sizes = [out, hidden][:states]
        shapes += [[layers * (1 + both), size] for size in sizes]  # given with the batch first, by the step
        self.add("recurrent", [i], *shapes, name=name, args=[hidden], kwargs=how, sizes=sizes)

    def make_attention(self) -> None:
        if self.mxnet or (i := self.value(lambda s: len(s) == 2 and s[1] % 2 == 0)) is None:
            return
        width = self.shapes[i][1]
        if self.draw(True, False):
            self.layer("MultiHeadAttention", i, self.shapes[i], width, 2, causal=self.draw(True, False), dropout=0.2)
        else:
            self.layer(
                "TransformerEncoderLayer", i, self.shapes[i], width, 5, 2, pre_norm=self.draw(True, False),
                layer_norm_eps=1e-5, activation=self.draw("relu", "gelu"),
            )  # fmt: skip

    # -- nets of nets --------------------------------------------------------------------------------------------------

    def make_nested(self) -> None:
        if (i := self.value(lambda s: len(s) == 1)) is None:
            return
        units = [self.size(2, 5) for _ in range(self.size(1, 3))]
        if self.draw(True, False):
            self.add(
                "chain", [i], [units[-1]], units=units, kind_of="HybridSequential", activation=self.draw("relu", None)
            )
        else:
            self.add("chain", [i], [sum(units)], units=units, kind_of="HybridConcatenate", activation="tanh")

    def make_shared(self) -> None:
        """A layer that is called again, or another with its parameters."""
        layers = [k for k, step in enumerate(self.steps) if step["what"] == "layer"]
        if not layers:
            return
        k = self.draw(*layers)
        step = self.steps[k]
        if step["name"] in ("Embedding",):
            return
        shape = self.shapes[step["of"][0]]
        i = self.value(lambda s: s == shape)
        first = self.before(k)
        if i is not None:
            self.add("again", [i], self.shapes[first], layer=k, copied=self.draw(True, False))

    def before(self, k: int) -> int:
        """Return the number of the first value that step `k` makes."""
        return len(self.shapes) - sum(step["gives"] for step in self.steps[k:])

    def leaving_out(self, wanted: list[int]) -> list[int]:
        """Return, for every input that no value of `wanted` depends on, the last value that does."""
        inputs = len(self.shapes) - sum(step["gives"] for step in self.steps)
        depend = [{i} for i in range(inputs)]
        for step in self.steps:
            depend += [set().union(*[depend[i] for i in step["of"]])] * step["gives"]
        missing = set(range(inputs)).difference(*[depend[i] for i in wanted])
        return [max(i for i, on in enumerate(depend) if j in on) for j in missing]

    # -- functions -----------------------------------------------------------------------------------------------------

    def make_unary(self) -> None:
        if (i := self.value(lambda s: len(s) >= 1)) is not None:
            self.add("unary", [i], self.shapes[i], name=self.draw(*_UNARY))

    def make_binary(self) -> None:
        if (i := self.value()) is None:
            return
        shape = self.shapes[i]
        j = self.value(lambda s: s == shape)
        self.add("binary", [i, j], shape, name=self.draw("add", "multiply", "maximum", "where", "subtract"))

    def make_constant(self) -> None:
        if (i := self.value(lambda s: len(s) >= 1)) is not None:
            shape = self.shapes[i]
            self.add("constant", [i], shape, numbers=self.numbers.randint(-3, 4, shape[-1]).tolist())

    def make_parameter(self) -> None:
        if (i := self.value(lambda s: len(s) >= 1)) is not None:
            self.add("parameter", [i], self.shapes[i], size=self.shapes[i][-1])

    def make_softmax(self) -> None:
        if (i := self.value(lambda s: len(s) >= 1)) is not None:
            self.add("softmax", [i], self.shapes[i], name=self.draw("softmax", "log_softmax"), axis=self.draw(-1, 1))

    def make_moved(self) -> None:
        """A slice, a reshape, a transpose, a joined or a stacked pair."""
        if (i := self.value(lambda s: len(s) >= 2)) is None:
            return
        shape = self.shapes[i]
        name = self.draw("slice", "swap", "merge", "flip", "join", "expand")
        if name == "slice":
            if shape[0] < 2:
                return
            after = [shape[0] - 1, *shape[1:]]
        elif name == "swap":
            after = [shape[1], shape[0], *shape[2:]]
        elif name == "merge":
            after = [shape[0] * shape[1], *shape[2:]]
        elif name == "join":
            after = [2 * shape[0], *shape[1:]]
        elif name == "expand" and len(shape) < 4:
            after = [1, *shape]
        elif name == "flip":
            after = shape
        else:
            return
        self.add("moved", [i], after, name=name)

    def make_reduced(self) -> None:
        if (i := self.value(lambda s: len(s) >= 2)) is not None:
            name = self.draw("sum", "mean", "max", "min", "std")
            self.add("reduced", [i], self.shapes[i][:-1], name=name)

    def make_branch(self) -> None:
        """A Python branch on what the net knows, and a loop."""
        if (i := self.value(lambda s: len(s) >= 1)) is not None:
            self.add("branch", [i], self.shapes[i], times=self.size(0, 3), shift=self.size(-2, 2))

    def make_loop(self) -> None:
        if (i := self.value(lambda s: len(s) == 2)) is not None and not self.mxnet:
            self.add("loop", [i], self.shapes[i], name=self.draw("foreach", "while_loop", "cond"))

    def make_integers(self) -> None:
        if (i := self.value(lambda s: len(s) >= 1, "i")) is not None:
            name = self.draw("cast", "one_hot_sum", "compare")
            self.add("integers", [i], self.shapes[i], kind="i", name=name)


def plan_of(
    numbers: onp.random.RandomState,
    steps: int = 6,
    without: frozenset[str] = frozenset(),
    mxnet: bool = False,
    dtype: str = "float32",
) -> Plan:
    """Draw a plan.

    Parameters
    ----------
    numbers : numpy.random.RandomState
    steps : int
        About so many steps.
    without : set of str, optional
        Kinds of steps that are left out.
    mxnet : bool
        Whether only what MXNet 2 has and computes alike is drawn, and every input has an output that depends on it,
        which its symbols ask for.
    dtype : str
        Of parameters and of inputs that are no integers.
    """
    planner = _Planner(numbers, without, mxnet)
    for _ in range(planner.size(1, 3)):
        if planner.size(0, 3) == 0:
            planner.shapes.append([planner.size(2, 4)])
            planner.kinds.append("i")
        else:
            axes = planner.size(0, 3)
            planner.shapes.append([planner.size(1, 4), *[planner.size(3, 6 if axes < 3 else 4) for _ in range(axes)]])
            planner.kinds.append("f")
    inputs = list(zip(map(list, planner.shapes), planner.kinds, strict=True))
    for _ in range(20 * steps):
        before = len(planner.steps)
        make = planner.makers[numbers.randint(len(planner.makers))]
        make(planner)
        if len(planner.steps) > before and max(int(onp.prod(s)) for s in planner.shapes) > 2000:
            break
        if len(planner.steps) == steps:
            break
    made = list(range(len(inputs), len(planner.shapes)))
    floats = [i for i in made if planner.kinds[i] == "f"]
    wanted = [made[-1]] if made else [0]
    if floats and numbers.randint(3) == 0:
        wanted = sorted({*wanted, *numbers.choice(floats, 2).tolist()})
    if mxnet:
        wanted = sorted({*wanted, *planner.leaving_out(wanted)})
    return {
        "inputs": [[shape, kind] for shape, kind in inputs],
        "steps": planner.steps,
        "outputs": [int(i) for i in wanted],
        "shapes": planner.shapes,
        "nesting": planner.draw("plain", "plain", "list", "tuple"),
        "dtype": dtype,
        "seed": int(numbers.randint(2**31)),
    }


def inputs_of(plan: Plan, batch: int, dtype: str | None = None) -> list[onp.ndarray]:
    """Return the same inputs at every call: float64 for what the net takes in its own dtype, int32 for the integers."""
    numbers = onp.random.RandomState(plan["seed"] % 2**31)
    found = []
    for shape, kind in plan["inputs"]:
        if kind == "i":
            found.append(numbers.randint(0, 9, (batch, *shape)).astype("int32"))
        else:
            found.append(numbers.uniform(-1, 1, (batch, *shape)))
    return found


def net_class(ways: Any) -> Any:
    """Return the class of nets that are made of a plan.

    Parameters
    ----------
    ways : namespace
        With the modules ``nn``, ``rnn``, ``np`` and ``npx``, and the classes ``Parameter`` and ``Constant``.
    """
    nn, rnn, np, npx = ways.nn, ways.rnn, ways.np, ways.npx

    def fresh(step: dict[str, Any]) -> Any:
        if step["what"] == "chain":
            chain = getattr(nn, step["kind_of"])(*([1] if step["kind_of"] == "HybridConcatenate" else []))
            for units in step["units"]:
                chain.add(nn.Dense(units, activation=step["activation"]))
            return chain
        if step["what"] == "constant":
            return ways.Constant(np.array(step["numbers"], dtype="float32"))
        if step["what"] == "parameter":
            return ways.Parameter(step["called"], shape=(step["size"],), init="ones")
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in step["kwargs"].items()}
        args = [tuple(a) if isinstance(a, list) else a for a in step["args"]]
        if step["what"] == "recurrent":
            return getattr(rnn, step["name"])(*args, layout="NTC", **settings)
        return getattr(nn, step["name"])(*args, **settings)

    class Net(nn.HybridBlock):
        """The net of a plan; step ``k`` has its layer or parameter, if any, as attribute ``s{k}``."""

        def __init__(self, plan: Plan) -> None:
            super().__init__()
            self.plan = plan
            for k, step in enumerate(plan["steps"]):
                if step["what"] in ("layer", "recurrent", "chain", "constant", "parameter"):
                    setattr(self, f"s{k}", fresh({**step, "called": f"s{k}"}))
                elif step["what"] == "again" and step["copied"]:
                    other = fresh(plan["steps"][step["layer"]])
                    other.share_parameters(getattr(self, f"s{step['layer']}").collect_params())
                    setattr(self, f"s{k}", other)

        def forward(self, *inputs: Any) -> Any:
            values = list(inputs)
            for k, step in enumerate(self.plan["steps"]):
                given = [values[i] for i in step["of"]]
                made = getattr(self, f"do_{step['what']}")(k, step, *given)
                values += made if isinstance(made, list) else [made]
            found = [values[i] for i in self.plan["outputs"]]
            if self.plan["nesting"] == "plain" and len(found) == 1:
                return found[0]
            return found if self.plan["nesting"] == "list" else tuple(found)

        def do_layer(self, k: int, step: dict[str, Any], x: Any) -> Any:
            return getattr(self, f"s{k}")(x)

        do_chain = do_layer

        def do_again(self, k: int, step: dict[str, Any], x: Any) -> Any:
            return getattr(self, f"s{k if step['copied'] else step['layer']}")(x)

        def do_recurrent(self, k: int, step: dict[str, Any], x: Any) -> Any:
            if not step["sizes"]:
                return getattr(self, f"s{k}")(x)
            count = step["kwargs"]["num_layers"] * (1 + step["kwargs"]["bidirectional"])
            zero = (x * 0).sum(axis=(1, 2))
            states = [np.stack([np.stack([zero + 0.1] * size, axis=-1)] * count) for size in step["sizes"]]
            out, states = getattr(self, f"s{k}")(x, states)
            return [out, *[np.swapaxes(s, 0, 1) for s in states]]

        def do_constant(self, k: int, step: dict[str, Any], x: Any) -> Any:
            return x * getattr(self, f"s{k}").data()

        def do_parameter(self, k: int, step: dict[str, Any], x: Any) -> Any:
            return x + getattr(self, f"s{k}").data()

        def do_unary(self, k: int, step: dict[str, Any], x: Any) -> Any:
            made = {
                "log1p_abs": lambda: np.log1p(np.abs(x)),
                "clip": lambda: np.clip(x, -0.5, 0.7),
                "cumsum": lambda: np.cumsum(x, axis=x.ndim - 1),
                "roll": lambda: np.roll(x, 1, axis=-1),
                "exp": lambda: np.exp(np.tanh(x)),
                "square": lambda: np.square(np.tanh(x)),
            }
            name = step["name"]
            return made[name]() if name in made else getattr(np, name)(x)

        def do_binary(self, k: int, step: dict[str, Any], x: Any, y: Any) -> Any:
            if step["name"] == "where":
                return np.where(x > 0, x, x * 0.5) + y  # continuous: roundings stay small
            return getattr(np, step["name"])(x, y)

        def do_softmax(self, k: int, step: dict[str, Any], x: Any) -> Any:
            return getattr(npx, step["name"])(x, axis=step["axis"])

        def do_moved(self, k: int, step: dict[str, Any], x: Any) -> Any:
            made = {
                "slice": lambda: x[:, 1:],
                "swap": lambda: np.swapaxes(x, 1, 2),
                "merge": lambda: npx.reshape(x, (-2, -5, -4)),
                "flip": lambda: x[:, ::-1],
                "join": lambda: np.concatenate([x, x * 2], axis=1),
                "expand": lambda: np.expand_dims(x, 1),
            }
            return made[step["name"]]()

        def do_reduced(self, k: int, step: dict[str, Any], x: Any) -> Any:
            return getattr(np, step["name"])(x, axis=-1)

        def do_branch(self, k: int, step: dict[str, Any], x: Any) -> Any:
            for _ in range(step["times"]):
                x = x * 0.5 if x.ndim > 2 else x + step["shift"]
            return x

        def do_integers(self, k: int, step: dict[str, Any], x: Any) -> Any:
            made = {
                "one_hot_sum": lambda: npx.one_hot(x, 9).sum(axis=-1).astype("int32"),
                "compare": lambda: (x > 3).astype("int32"),
                "cast": lambda: (x + 1) % 9,
            }
            return made[step["name"]]()

        def do_loop(self, k: int, step: dict[str, Any], x: Any) -> Any:
            if step["name"] == "foreach":
                steps = np.swapaxes(x, 0, 1)
                out, _ = npx.foreach(lambda part, state: (part + state, part * 0.5), steps, steps[0])
                return np.swapaxes(out, 0, 1)
            if step["name"] == "cond":
                return npx.cond(lambda y: y.sum() > 0.123, lambda y: y * 2, lambda y: y - 1, [x])
            _, (_, x) = npx.while_loop(
                lambda i, y: i < 3,
                lambda i, y: ([], [i + 1, y * 0.5 + 1]),
                [np.zeros((), dtype="int32"), x],
                max_iterations=5,
            )
            return x

    return Net
