"""Places of MXNet's modules in gluonx, and the names each of them had."""

from __future__ import annotations

import functools
import pathlib

# The module of gluonx behind a module of MXNet, where it is not the one of the same name.
MODULES = {
    "mxnet": "gluonx",
    "mxnet.base": "gluonx.errors",
    "mxnet.context": "gluonx.device",
    "mxnet.contrib": "",
    "mxnet.contrib.amp": "gluonx.amp",
    "mxnet.contrib.autograd": "gluonx.compat.contrib.autograd",
    "mxnet.contrib.io": "gluonx.compat.contrib_io",
    "mxnet.contrib.nd": "gluonx.compat.nd.contrib",
    "mxnet.contrib.ndarray": "gluonx.compat.nd.contrib",
    "mxnet.contrib.onnx": "gluonx.compat.contrib.onnx",
    "mxnet.contrib.quantization": "gluonx.quantization",
    "mxnet.contrib.sym": "gluonx.symbol.contrib",
    "mxnet.contrib.symbol": "gluonx.symbol.contrib",
    "mxnet.contrib.tensorboard": "gluonx.compat.contrib.tensorboard",
    "mxnet.contrib.text": "gluonx.compat.contrib.text",
    "mxnet.error": "gluonx.errors",
    "mxnet.executor_manager": "gluonx.compat.executor_manager",
    "mxnet.gluon": "gluonx",
    "mxnet.gluon.contrib": "gluonx.contrib",
    "mxnet.gluon.contrib.data": "gluonx.contrib.data",
    "mxnet.gluon.contrib.data.text": "gluonx.compat.contrib.data.text",
    "mxnet.gluon.contrib.data.vision.transforms": "gluonx.compat.contrib.data.boxes",
    "mxnet.gluon.contrib.data.vision.transforms.bbox": "gluonx.compat.contrib.data.boxes",
    "mxnet.gluon.contrib.estimator": "gluonx.estimator",
    "mxnet.init": "gluonx.initializer",
    "mxnet.kv": "gluonx.kvstore",
    "mxnet.mod": "gluonx.module",
    "mxnet.model": "gluonx.compat.model",
    "mxnet.mon": "gluonx.monitor",
    "mxnet.nd": "gluonx.compat.nd",
    "mxnet.ndarray": "gluonx.compat.nd",
    "mxnet.ndarray.numpy": "gluonx.np",
    "mxnet.ndarray.numpy._internal": "gluonx.npx",
    "mxnet.ndarray.numpy_extension": "gluonx.npx",
    "mxnet.ndarray.op": "gluonx.compat.nd",
    "mxnet.numpy": "gluonx.np",
    "mxnet.numpy_extension": "gluonx.npx",
    "mxnet.operator": "gluonx.compat.operator",
    "mxnet.random": "gluonx.compat.nd.random",
    "mxnet.registry": "gluonx.compat.registry",
    "mxnet.rnn": "gluonx.compat.rnn",
    "mxnet.sym": "gluonx.symbol",
    "mxnet.symbol.numpy": "gluonx.symbol.np",
    "mxnet.symbol.numpy_extension": "gluonx.symbol.npx",
    "mxnet.symbol.op": "gluonx.symbol",
    "mxnet.test_utils": "gluonx.compat.test_utils",
    "mxnet.viz": "gluonx.visualization",
}

# Modules that MXNet cut a package into, and whose names the package has: what is in them is looked up in the package.
_PARTS = {
    "mxnet.amp": "amp lists loss_scaler",
    "mxnet.contrib.amp": "amp lists loss_scaler",
    "mxnet.gluon.contrib.cnn": "conv_layers",
    "mxnet.gluon.contrib.data": "sampler",
    "mxnet.gluon.contrib.data.vision": "dataloader",
    "mxnet.gluon.contrib.data.vision.transforms.bbox": "bbox",
    "mxnet.gluon.contrib.estimator": "batch_processor estimator event_handler utils",
    "mxnet.gluon.contrib.nn": "basic_layers",
    "mxnet.gluon.contrib.rnn": "conv_rnn_cell rnn_cell",
    "mxnet.gluon.data": "dataloader dataset sampler",
    "mxnet.gluon.data.vision": "datasets",
    "mxnet.gluon.data.vision.transforms": "image",
    "mxnet.gluon.model_zoo.vision": "alexnet densenet inception mobilenet resnet squeezenet vgg",
    "mxnet.gluon.nn": "activations basic_layers conv_layers",
    "mxnet.gluon.probability": "block distributions transformation",
    "mxnet.gluon.probability.block": "stochastic_block",
    "mxnet.gluon.probability.distributions": "bernoulli beta binomial categorical cauchy chi2 dirichlet distribution "
    "divergence exp_family exponential fishersnedecor gamma geometric gumbel half_cauchy half_normal independent "
    "laplace multinomial multivariate_normal negative_binomial normal one_hot_categorical pareto poisson "
    "relaxed_bernoulli relaxed_one_hot_categorical studentT transformed_distribution uniform weibull",
    "mxnet.gluon.probability.transformation": "domain_map transformation",
    "mxnet.gluon.rnn": "conv_rnn_cell rnn_cell rnn_layer",
    "mxnet.image": "detection image",
    "mxnet.io": "io utils",
    "mxnet.kvstore": "base kvstore",
    "mxnet.module": "base_module bucketing_module module python_module sequential_module",
    "mxnet.ndarray": "ndarray utils",
    "mxnet.numpy": "fallback function_base io multiarray set_functions stride_tricks type_functions utils",
    "mxnet.numpy_extension": "control_flow utils",
    "mxnet.optimizer": "adabelief adadelta adagrad adam adamW adamax contrib dcasgd ftml ftrl lamb lans lars nadam nag "
    "optimizer rmsprop sgd sgld signum updater utils",
    "mxnet.rnn": "io rnn rnn_cell",
    "mxnet.symbol": "symbol",
}
PARTS = {f"{package}.{name}": package for package, names in _PARTS.items() for name in names.split()}

# Second names of modules; both are one module, as in MXNet.
SAME = {
    "mxnet.img": "mxnet.image",
    "mxnet.init": "mxnet.initializer",
    "mxnet.kv": "mxnet.kvstore",
    "mxnet.mod": "mxnet.module",
    "mxnet.mon": "mxnet.monitor",
    "mxnet.np": "mxnet.numpy",
    "mxnet.npx": "mxnet.numpy_extension",
    "mxnet.rnd": "mxnet.random",
    "mxnet.sym": "mxnet.symbol",
    "mxnet.viz": "mxnet.visualization",
}


def target(dotted: str) -> str:
    """Return the name of the module of gluonx that a module of MXNet stands for; empty if it stands for none.

    Examples
    --------
    >>> target("mxnet.gluon.nn"), target("mxnet.nd.contrib"), target("mxnet.contrib")
    ('gluonx.nn', 'gluonx.compat.nd.contrib', '')
    """
    if dotted in MODULES:
        return MODULES[dotted]
    if dotted in PARTS:
        return target(PARTS[dotted])
    parent, _, leaf = dotted.rpartition(".")
    above = target(parent)
    return f"{above}.{leaf}" if above else ""


@functools.cache
def _stars() -> tuple[dict[str, str], dict[str, dict[str, dict[int, str | None]]]]:
    """Read the usual homes of names; and of every module its names, by version the home that is not the usual one."""
    usual: dict[str, str] = {}
    found: dict[str, dict[str, dict[int, str | None]]] = {}
    current: dict[str, dict[int, str | None]] = {}
    for line in pathlib.Path(__file__).with_name("stars.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        head, _, rest = line.partition(" ")
        if head.endswith(":"):
            current, line = found.setdefault(head[:-1], {}), rest
        elif head:
            name, _, home = line.partition("=")
            usual[name] = home
            continue
        for entry in line.split():
            name, given, home = entry.partition("=")
            versions: tuple[int, ...] = (1, 2)
            if name[0].isdigit():
                versions, name = (int(name[0]),), name[2:]
            current.setdefault(name, {}).update(dict.fromkeys(versions, home if given else None))
    return usual, found


def canonical(module: str) -> str:
    """Return the full name of a module that may be called by its second one: ``mxnet.nd.op`` is mxnet.ndarray.op."""
    head, dot, rest = module.removeprefix("mxnet.").partition(".")
    return _FULL.get(f"mxnet.{head}", f"mxnet.{head}") + dot + rest if module != "mxnet" else module


_FULL = {**SAME, "mxnet.nd": "mxnet.ndarray"}


def star_names(module: str, version: int | None = None) -> list[str] | None:
    """Return the names that ``from module import *`` binds in a version of MXNet, or in any; None if it is not known.

    Examples
    --------
    >>> star_names("mxnet.gluon.data.sampler", 1)
    ['BatchSampler', 'FilterSampler', 'RandomSampler', 'Sampler', 'SequentialSampler']
    """
    names = _stars()[1].get(canonical(module))
    return None if names is None else [n for n, homes in names.items() if version is None or version in homes]


def star_home(module: str, name: str, version: int) -> str | None:
    """Return the home of a name that ``from module import *`` binds, as `hidden_home` does; '' if it is `module`.

    Of a plain value it is '=' and the value, as Python writes it. None if it binds no such name. A name that only the
    other version has counts too.

    Examples
    --------
    >>> star_home("mxnet.test_utils", "os", 2), star_home("mxnet.image", "det", 1), star_home("mxnet.image", "x", 1)
    ('os', 'mxnet.image.detection', None)
    """
    usual, modules = _stars()
    homes = modules.get(canonical(module), {}).get(name)
    if homes is None:
        return None
    home = homes.get(version, next(iter(homes.values())))
    return usual.get(name, "") if home is None else home


@functools.cache
def _hidden() -> tuple[dict[str, str], dict[str, frozenset[str]]]:
    """Read the homes of names that MXNet's modules import, and the names of its modules that are not public."""
    homes: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in pathlib.Path(__file__).with_name("hidden.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("mxnet"):
            module, _, line = line.partition(":")
            current = found.setdefault(module, [])
        elif "=" in line and not line.startswith("#"):
            name, _, homes_of = line.partition("=")
            homes[name] = homes_of
            continue
        if not line.startswith("#"):
            current.extend(line.split())
    return homes, {module: frozenset(names) for module, names in found.items()}


def hidden_home(module: str, name: str) -> str | None:
    """Return the home of a name that is not public: ``'package.module:name'``, ``'package'``, or '' for its module.

    None if `module` of MXNet has no such name. Of modules within MXNet's machinery, ``*`` in the list, any name will
    do.

    Examples
    --------
    >>> hidden_home("mxnet.gluon.block", "_common_prefix"), hidden_home("mxnet.gluon.block", "no_such_name")
    ('', None)
    """
    homes, names = _hidden()
    listed = names.get(module, frozenset())
    if name not in listed and "*" not in listed:
        return None
    return homes.get(name, "")


@functools.cache
def known_names() -> dict[str, frozenset[str]]:
    """Return the public names of every module of MXNet."""
    text = pathlib.Path(__file__).with_name("names.txt").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith("mxnet"):
            module, _, line = line.partition(":")
            current = found.setdefault(module, [])
        if not line.startswith("#"):
            current.extend(line.split())
    for short, full in SAME.items():
        found[full] = found[short] = [*found.get(full, ()), *found.get(short, ())]
    return {module: frozenset(names) for module, names in found.items()}


@functools.cache
def known_modules() -> frozenset[str]:
    """Return the modules of MXNet, with the packages that they lie in."""
    listed = {*known_names(), *MODULES, *PARTS, *SAME, *_hidden()[1]}
    return frozenset(".".join(name.split(".")[: n + 1]) for name in listed for n in range(name.count(".") + 1))
