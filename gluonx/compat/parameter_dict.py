"""Parameters by name, with what MXNet 1 could do with all of them at once.

``net.collect_params()`` of 1.x code is one, and so is ``self.params``, where a block makes its parameters:
``self.params.get('weight', shape=(3, 4))``. Names carry the block's prefix, as in ``'dense0_weight'``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx import files as serialize
from gluonx.block.parameter import Constant, Parameter
from gluonx.errors import FormatError, ShapeError

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


class NamedConstant(Constant):
    """MXNet 1's ``gluon.Constant(name, value)``; ``Constant(value)``, as in MXNet 2, is called ``'const'``.

    Parameters
    ----------
    name : str
    value : array_like
    """

    def __init__(self, name: Any, value: Any = None) -> None:
        super().__init__(name if value is None else value)
        if value is not None:
            self._name, self._prefixed = name, True


NamedConstant.__name__ = NamedConstant.__qualname__ = "Constant"


class ParameterDict(dict[str, Parameter]):
    """A dict of parameters by their full names.

    Parameters
    ----------
    prefix : str
        Goes before the names that `get` is given.
    shared : ParameterDict, optional
        Where `get` looks for a parameter of the full name before it makes one.

    Examples
    --------
    >>> params = ParameterDict("net0_")
    >>> weight = params.get("weight", shape=(2, 3), init="zeros")
    >>> weight.name
    'net0_weight'
    >>> params.initialize()
    >>> weight.data().shape
    (2, 3)
    """

    _by_structure: Callable[[], Mapping[str, Parameter]] | None = None  # gives the same by structured names

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        super().__init__()
        self._prefix, self._shared = prefix, shared

    def __missing__(self, name: str) -> Any:
        found = self._by_structure().get(name) if self._by_structure is not None else None
        if found is None:
            raise KeyError(name)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_by_structure"}

    @property
    def prefix(self) -> str:
        """The prefix of the names that `get` is given."""
        return self._prefix

    @property
    def _params(self) -> ParameterDict:
        """The parameters, as programs reach for them: the dict itself."""
        return self

    def __repr__(self) -> str:
        name = self._prefix + " " if self._prefix else ""
        kinds = {key: type(param).__name__ for key, param in self.items()}
        lines = "\n".join(f"  {kinds[key]} {key} ({repr(param).partition('(')[2]}" for key, param in self.items())
        return f"{name}(\n{lines}\n)"

    # ---------------------------------------------------------------- finding and making

    def get(self, name: str, default: Any = None, **kwargs: Any) -> Any:
        """Return the parameter ``prefix + name``, made with `kwargs` (as of `Parameter`) if there is none.

        Raises
        ------
        ShapeError
            If there is one already, of another shape.
        ValueError
            If there is one already, of another dtype.
        """
        full = self._prefix + name
        if full not in self and name in self and not kwargs:
            return self[name]
        found = self.find(full)
        if found is None:
            if isinstance(kwargs.get("grad_req"), bool):
                kwargs["grad_req"] = "write" if kwargs["grad_req"] else "null"
            found = self[full] = Parameter(full, **{k: v for k, v in kwargs.items() if v is not None})
            found._prefixed = True
            return found
        for key, value in kwargs.items():
            if key == "shape" and value is not None:
                found.shape = value
            elif key == "dtype" and value is not None and np.dtype(value) != found.dtype:
                raise ValueError(f"Parameter '{full}' exists with dtype {found.dtype}, and {value!r} was asked for.")
        return found

    def get_constant(self, name: str, value: Any = None) -> Parameter:
        """Return the constant ``prefix + name``, made of `value` if there is none.

        Raises
        ------
        KeyError
            If there is none and no value is given.
        """
        full = self._prefix + name
        found = self.find(full)
        if found is None:
            if value is None:
                raise KeyError(f"There is no constant '{full}'; give its value to make one.")
            found = self[full] = NamedConstant(full, value)
        return found

    def find(self, full: str) -> Any:
        """Return the parameter of this full name, also among the shared ones; None if there is none."""
        if full in self:
            return self[full]
        shared = self._shared.find(full) if self._shared is not None else None
        if shared is not None:
            self[full] = shared
        return shared

    def update(self, other: Any = (), **kwargs: Any) -> None:
        """Take over parameters.

        Raises
        ------
        ValueError
            If another parameter has one of the names.
        """
        for name, param in dict(other, **kwargs).items():
            if self.setdefault(name, param) is not param:
                raise ValueError(f"Two different parameters are called '{name}'; give their blocks other prefixes.")

    def select(self, pattern: str | None) -> ParameterDict:
        """Those whose names a regular expression matches from their beginning on."""
        chosen = ParameterDict(self._prefix)
        wanted = re.compile(pattern or "")
        chosen.update({name: param for name, param in self.items() if wanted.match(name)})
        return chosen

    # ---------------------------------------------------------------- all at once

    def initialize(
        self,
        init: Any = None,
        ctx: Any = None,
        verbose: bool = False,
        force_reinit: bool = False,
        device: Any = None,
    ) -> None:
        """Initialize all; `init` goes where a parameter has no initializer of its own."""
        for param in self.values():
            param.initialize(None, ctx if device is None else device, default_init=init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to zero."""
        for param in self.values():
            param.zero_grad()

    def reset_ctx(self, ctx: Any) -> None:
        """Move all to another device."""
        for param in self.values():
            param.reset_device(ctx)

    reset_device = reset_ctx

    def list_ctx(self) -> list[Any]:
        """Return the devices of all."""
        return list(dict.fromkeys([device for param in self.values() for device in param.list_device()]))

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of all, as in ``setattr('grad_req', 'null')``."""
        for param in self.values():
            setattr(param, name, value)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of all."""
        for param in self.values():
            param.cast(dtype)

    # ---------------------------------------------------------------- files

    def save(self, filename: str | PathLike[str], strip_prefix: str = "") -> None:
        """Write all in MXNet's own format, under their names without `strip_prefix`.

        Raises
        ------
        ValueError
            If a name does not begin with `strip_prefix`.
        """
        named: dict[str, np.ndarray] = {}
        for name, param in self.items():
            if not name.startswith(strip_prefix):
                raise ValueError(f"strip_prefix is '{strip_prefix}', but parameter '{name}' does not begin with it.")
            named[name[len(strip_prefix) :]] = param.data().asnumpy()
        serialize.save_ndarrays(filename, named)

    def load(
        self,
        filename: str | PathLike[str],
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read values for all from a file of any known kind.

        Parameters
        ----------
        restore_prefix : str
            Goes before the names in the file.
        allow_missing, ignore_extra : bool
            Whether parameters that the file lacks, or names that are no parameter here, are passed over.

        Raises
        ------
        FormatError
            If names do not agree; all of them are listed.
        """
        found = serialize.load_arrays(filename)
        values = {restore_prefix + re.sub(r"^(arg|aux):", "", name): value for name, value in found.items()}
        missing = [name for name in self if name not in values]
        extra = [name for name in values if name not in self]
        if (missing and not allow_missing) or (extra and not ignore_extra):
            parts = [f"it lacks {missing}"] if missing and not allow_missing else []
            parts += [f"it has {extra}, which are no parameters here"] if extra and not ignore_extra else []
            raise FormatError(f"{filename}: {'; '.join(parts)}.")
        _check_shapes(self, values)
        for name, value in values.items():
            if name in self:
                _load_into(self[name], value, ctx)


def _check_shapes(params: Mapping[str, Parameter], values: Mapping[str, np.ndarray]) -> None:
    """Raise before anything is loaded if a value cannot be its parameter's."""
    wrong = [
        f"'{name}' is of shape {params[name].shape}, the file's of {value.shape}"
        for name, value in values.items()
        if name in params and not params[name]._admits(value.shape)
    ]
    if wrong:
        raise ShapeError(f"The file does not fit: {'; '.join(wrong)}.")


def _load_into(param: Parameter, value: np.ndarray, ctx: Any) -> None:
    if param._handle is None:
        param.shape = value.shape
        param.initialize(device=ctx, default_init="zeros")
    param.set_data(value)
