"""The weights in a file of ``torch.save``, read without torch and without unpickling anything.

Since PyTorch 1.6 such a file is a zip archive: ``NAME/data.pkl`` says which tensors there are, each a view (offset,
shape, strides) of a storage, and ``NAME/data/KEY`` holds the bytes of a storage. The pickle is read by the machine of
`pickles`, which knows the names of tensors and of storages only. Tensors of one storage, such as tied weights, are
views of one array here too.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from gluonx.files.npz import opened_zip, read_member
from gluonx.files.pickles import Machine, Name, Record
from gluonx.files.source import BFLOAT16, Source, byte_count

_STORAGES = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": BFLOAT16,
    "ByteStorage": np.dtype("u1"),
    "CharStorage": np.dtype("i1"),
    "ShortStorage": np.dtype("<i2"),
    "IntStorage": np.dtype("<i4"),
    "LongStorage": np.dtype("<i8"),
    "BoolStorage": np.dtype("?"),
    "ComplexFloatStorage": np.dtype("<c8"),
}
_TENSORS = ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_parameter")
_HOMES = ("state_dict", "model_state_dict", "model")
"""Keys under which a checkpoint that has more in it than weights keeps these."""


class _Tensors(Machine):
    what = "PyTorch's weights"
    instead = "; a whole model is not read, save its weights: torch.save(model.state_dict(), path)"

    def __init__(self, source: Source, storages: Any) -> None:
        super().__init__(source)
        self.storages = storages

    def knows(self, module: str, name: str) -> bool:
        return (
            (module == "collections" and name in ("OrderedDict", "defaultdict"))
            or (module == "torch._utils" and name in _TENSORS)
            or (module == "torch" and (name in _STORAGES or name == "Size"))
        )

    def persistent(self, key: Any) -> Any:
        good = isinstance(key, tuple) and len(key) == 5 and key[0] == "storage" and isinstance(key[1], Name)
        if not good or key[1].name not in _STORAGES or not isinstance(key[2], str):
            raise self.fail("it refers to something that is no storage")
        return self.storages(key[2], _STORAGES[key[1].name])

    def build(self) -> None:
        if len(self.stack) > 1 and isinstance(self.stack[-2], dict):  # versions of modules, on a state dict
            self.pop()
        else:
            super().build()

    def reduce(self) -> None:
        super().reduce()
        made = self.stack[-1]
        if isinstance(made, Record):
            self.stack[-1] = made.args[0] if made.name.name == "Size" and made.args else self.tensor(made)

    def tensor(self, made: Record) -> np.ndarray:
        """Return the view of a storage that a tensor is."""
        args = made.args
        if made.name.name == "_rebuild_parameter" and args and isinstance(args[0], np.ndarray):
            return args[0]
        storage, offset, shape, strides = args[:4] if len(args) >= 4 else (None, 0, (), ())
        numbers = isinstance(shape, tuple) and isinstance(strides, tuple) and len(shape) == len(strides)
        if made.name.name == "_rebuild_parameter" or not isinstance(storage, np.ndarray) or not numbers:
            raise self.fail("a tensor is not made of a storage, an offset, a shape and strides")
        if not all(type(n) is int and 0 <= n < 1 << 63 for n in (offset, *shape, *strides)):
            raise self.fail(f"a tensor has the offset {offset}, the shape {shape} and the strides {strides}")
        nbytes = byte_count(storage.dtype, shape, lambda reason: self.fail(f"a tensor {reason}"))
        last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if nbytes and last >= storage.size:
            raise self.fail(f"a tensor of shape {shape} reaches beyond its storage of {storage.size} numbers")
        if not nbytes:
            return np.empty(shape, storage.dtype)
        size = storage.dtype.itemsize
        view = np.ndarray(shape, storage.dtype, storage.data, offset * size, tuple(size * step for step in strides))
        if view.flags.c_contiguous:
            return view
        self.source.spend(nbytes, "a tensor with strides")
        return np.ascontiguousarray(view)


def is_torch(head: bytes) -> bool:
    """Return whether a zip archive begins as those of ``torch.save``: with the member ``NAME/data.pkl``."""
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    return name == b"data.pkl" or name.endswith(b"/data.pkl")


def read_torch(source: Source) -> dict[str, np.ndarray]:
    """All tensors of the state dict in the file, in its order."""
    with opened_zip(source) as members:
        root = next(name for name in members if name.split("/")[-1] == "data.pkl").removesuffix("data.pkl")
        order = members.get(f"{root}byteorder")
        if order is not None and _bytes(source, order) != b"little":
            raise source.fail("it was written on a machine with the other order of bytes")
        found: dict[tuple[str, np.dtype], np.ndarray] = {}

        def storage(key: str, dtype: np.dtype) -> np.ndarray:
            if (key, dtype) not in found:
                member = members.get(f"{root}data/{key}")
                if member is None:
                    raise source.fail(f"the storage {key!r} is not in it")
                if any(other == key for other, _ in found):
                    raise source.fail(f"the storage {key!r} has two types")
                data = _bytes(source, member)
                if len(data) % dtype.itemsize:
                    raise source.fail(f"the storage {key!r} holds {len(data)} bytes, no whole number of {dtype}")
                raw = np.frombuffer(bytearray(data), np.uint8)
                found[key, dtype] = raw != 0 if dtype == np.bool_ else raw.view(dtype)
            return found[key, dtype]

        machine = _Tensors(source, storage)
        return _state_dict(source, machine.run(_bytes(source, members[f"{root}data.pkl"])))


def _bytes(source: Source, member: tuple[zipfile.ZipFile, zipfile.ZipInfo]) -> bytes:
    return read_member(source, *member, raw=True)


def _state_dict(source: Source, content: Any) -> dict[str, np.ndarray]:
    """Return the tensors of a checkpoint, which may hold more than these."""
    if not isinstance(content, Mapping):
        raise source.fail("it holds no dict of tensors; save net.state_dict() with torch.save")
    tensors = {str(name): value for name, value in content.items() if isinstance(value, np.ndarray)}
    homes = [home for home in _HOMES if isinstance(content.get(home), Mapping)]
    if tensors and not homes:
        return tensors
    if len(homes) != 1 or tensors:
        raise source.fail(
            f"which of its entries is the state dict is unclear: {', '.join(map(str, list(content)[:20])) or 'none'}; "
            "save net.state_dict() alone with torch.save"
        )
    return {str(name): value for name, value in content[homes[0]].items() if isinstance(value, np.ndarray)}
