"""Random arrays, shapes and matrices for tests, and the data sets that MXNet's tests download."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import itertools
import os
import platform
import shutil
import zipfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import np as gnp
from gluonx import utils
from gluonx.compat import nd
from gluonx.compat.io import DataIter, NDArrayIter
from gluonx.data.vision.datasets import read_idx
from gluonx.files import atomic_write

if TYPE_CHECKING:
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike


__all__ = [
    "DummyIter",
    "assign_each",
    "assign_each2",
    "create_2d_np_tensor",
    "create_2d_tensor",
    "create_sparse_array",
    "create_sparse_array_zd",
    "create_vector",
    "download",
    "get_bz2_data",
    "get_cifar10",
    "get_identity_mat",
    "get_identity_mat_batch",
    "get_im2rec_path",
    "get_mnist",
    "get_mnist_iterator",
    "get_mnist_ubyte",
    "get_zip_data",
    "is_aarch64_run",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "rand_sparse_ndarray",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
    "shuffle_csr_column_indices",
]


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return a shape of so many axes, of lengths from 1 (or 0) to `dim`."""
    return tuple(onp.random.randint(0 if allow_zero_size else 1, dim + 1, num_dim).tolist())


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return the shape of a matrix."""
    low = 0 if allow_zero_size else 1
    return tuple([int(onp.random.randint(low, d + 1)) for d in (dim0, dim1)])


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return the shape of an array of three axes."""
    low = 0 if allow_zero_size else 1
    return tuple([int(onp.random.randint(low, d + 1)) for d in (dim0, dim1, dim2)])


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Return two whole numbers, each from its low end up to, and not with, its high end."""
    return int(onp.random.randint(x_low, x_high)), int(onp.random.randint(y_low, y_high))


def random_arrays(*shapes: Sequence[int]) -> Any:
    """Return float32 arrays of NumPy, standard normal: a list, or for a single shape the array."""
    arrays = [onp.asarray(onp.random.randn(*shape), onp.float32) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(
    *shapes: Sequence[int], low: float = 0.0, high: float = 1.0, dtype: DTypeLike = "float32"
) -> list[onp.ndarray]:
    """Return arrays of NumPy, uniform from `low` to `high`, as a list."""
    return [onp.random.uniform(low, high, size=tuple(shape)).astype(dtype) for shape in shapes]


def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """Return `k` different elements of a sequence, in random order."""
    if not 0 <= k <= len(population):
        raise AssertionError(f"random_sample: {k} of {len(population)} elements cannot be chosen")
    return [population[i] for i in onp.random.permutation(len(population))[:k]]


# -- arrays of MXNet ---------------------------------------------------------------------------------------------------


def rand_ndarray(
    shape: Sequence[int],
    stype: str = "default",
    density: float | None = None,
    dtype: DTypeLike = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: DeviceLike = None,
) -> Any:
    """Return numbers between -1 and 1 as an NDArray, dense or, by `stype`, of another storage.

    The share `density` of the rows (``'row_sparse'``) or elements (``'csr'``) is there; one drawn at random by default.
    """
    if stype == "default":
        return nd.array(onp.random.uniform(-1, 1, tuple(shape)), ctx=ctx, dtype=dtype or "float32")
    return create_sparse_array(
        shape, stype, None, None, dtype, modifier_func, density, shuffle_csr_indices, distribution, ctx
    )


def rand_sparse_ndarray(
    shape: Sequence[int],
    stype: str,
    density: float | None = None,
    dtype: Any = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Any = None,
) -> tuple[Any, Any]:
    """Return a sparse array and its parts: (values, indices) of rows, or (indptr, indices, values) of a csr matrix."""
    array = create_sparse_array(
        shape, stype, data_init, rsp_indices, dtype, modifier_func, density, shuffle_csr_indices, distribution, ctx
    )
    return array, (array.data, array.indices) if stype == "row_sparse" else (array.indptr, array.indices, array.data)


def create_sparse_array(
    shape: Sequence[int],
    stype: str,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: DTypeLike = None,
    modifier_func: Callable[[Any], Any] | None = None,
    density: float | None = 0.5,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: DeviceLike = None,
) -> Any:
    """Return an array of storage `stype`, random or with all its values `data_init`.

    Parameters
    ----------
    rsp_indices : list of int, optional
        The rows that are there, for ``'row_sparse'``.
    modifier_func : callable, optional
        Applied to each value.
    distribution : {'uniform', 'powerlaw'}
        How the elements of a csr matrix lie; by ``'powerlaw'`` each row has twice as many as the one before.

    Raises
    ------
    ValueError
        For another storage or distribution, or a density outside of 0 to 1.
    """
    shape = tuple(shape)
    density = float(onp.random.rand()) if density is None else density
    if not 0 <= density <= 1:
        raise ValueError(f"density must be between 0 and 1, got {density}")
    if stype not in ("row_sparse", "csr"):
        raise ValueError(f"stype must be 'row_sparse' or 'csr', got {stype!r}")
    if distribution not in (None, "uniform", "powerlaw"):
        raise ValueError(f"distribution must be 'uniform' or 'powerlaw', got {distribution!r}")
    dtype = dtype or "float32"
    if stype == "row_sparse":
        rows = onp.flatnonzero(onp.random.rand(shape[0]) < density)
        rows = rows if rsp_indices is None else onp.unique(onp.asarray(rsp_indices, int))
        values = _values((len(rows), *shape[1:]), data_init, modifier_func)
        return nd.sparse.row_sparse_array((values, rows), shape=shape, dtype=dtype, ctx=ctx)
    counts, columns = _lying(shape, density, distribution)
    starts = onp.concatenate([[0], onp.cumsum(counts)])
    values = _values((len(columns),), data_init, modifier_func)
    array = nd.sparse.csr_matrix((values, columns, starts), shape=shape, dtype=dtype, ctx=ctx)
    if shuffle_csr_indices:
        shuffle_csr_column_indices(array)
    return array


def _values(shape: tuple[int, ...], fixed: float | None, change: Callable[[Any], Any] | None) -> onp.ndarray:
    values = onp.random.uniform(0.001, 1, shape) if fixed is None else onp.full(shape, float(fixed))
    return values if change is None else onp.vectorize(change, otypes=[float])(values)


def _lying(shape: tuple[int, ...], density: float, distribution: str | None) -> tuple[Any, onp.ndarray]:
    """Return how many elements each row of a csr matrix has, and the columns of all, row by row."""
    rows, width = shape
    total = int(rows * width * density)
    if distribution != "powerlaw":
        places = _some_of(rows * width, total)
        return onp.bincount(places // width, minlength=rows) if width else onp.zeros(rows, int), places % max(width, 1)
    if total < 2 * rows:
        raise ValueError(f"a powerlaw needs rows * columns * density >= 2 * rows, got {total} of {2 * rows}")
    counts, left, length = [], total, 2
    for row in range(rows):
        counts.append(min(length, width, left - (rows - 1 - row)))
        left -= counts[-1]
        length *= 2
    return counts, onp.concatenate([onp.arange(count) for count in counts])


def _some_of(size: int, count: int) -> onp.ndarray:
    """Return `count` different numbers below `size`, in order, in memory for `count` of them."""
    if count > size // 2:
        return onp.sort(onp.random.permutation(size)[:count])
    found = onp.empty(0, onp.int64)
    while len(found) < count:
        found = onp.union1d(found, onp.random.randint(0, size, count - len(found), onp.int64))
    return found


def create_sparse_array_zd(
    shape: Sequence[int],
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: DTypeLike = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
) -> Any:
    """Return `create_sparse_array`, whose density may be 0; rows given by `rsp_indices` are all there."""
    if stype == "row_sparse" and rsp_indices is not None and not 0 <= len(rsp_indices) <= shape[0]:
        raise ValueError(f"there are {shape[0]} rows, but {len(rsp_indices)} indices were given")
    density = 0.0 if data_init == 0 and rsp_indices is None else density
    return create_sparse_array(shape, stype, data_init, rsp_indices, dtype, modifier_func, density, shuffle_csr_indices)


def shuffle_csr_column_indices(csr: Any) -> None:
    """Bring the column indices within each row of a csr matrix into random order, in place; values stay."""
    starts, columns = onp.asarray(csr.indptr).astype(int), onp.array(csr.indices)
    for begin, end in itertools.pairwise(starts):
        onp.random.shuffle(columns[begin:end])
    csr._columns, csr._padded = columns, None


def create_vector(size: int, dtype: DTypeLike = onp.int64) -> Any:
    """Return 0, 1, ..., size - 1 as an NDArray."""
    return nd.arange(0, size, dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: DTypeLike = onp.int64) -> Any:
    """Return a matrix as an NDArray whose rows hold their numbers."""
    return nd.array(onp.repeat(onp.arange(rows)[:, None], columns, 1), dtype=dtype)


def create_2d_np_tensor(rows: int, columns: int, dtype: DTypeLike = onp.int64) -> Any:
    """Return a matrix as an np.ndarray whose rows hold their numbers."""
    return gnp.array(onp.repeat(onp.arange(rows)[:, None], columns, 1), dtype=dtype)


def assign_each(the_input: Any, function: Callable[[Any], Any] | None) -> Any:
    """Return NumPy's array of ``function(x)`` for each element; of None, a copy."""
    values = onp.array(the_input.asnumpy() if hasattr(the_input, "asnumpy") else the_input)
    if function is None:
        return values
    return onp.vectorize(function, otypes=[values.dtype])(values)


def assign_each2(input1: Any, input2: Any, function: Callable[[Any, Any], Any] | None) -> Any:
    """Return NumPy's array of ``function(x, y)`` for the elements of two arrays of one shape; of None, the first."""
    one, other = [onp.array(v.asnumpy() if hasattr(v, "asnumpy") else v) for v in (input1, input2)]
    if function is None:
        return one
    if one.shape != other.shape:
        raise AssertionError(f"the shapes differ: {one.shape} and {other.shape}")
    return onp.vectorize(function, otypes=[one.dtype])(one, other)


# -- matrices ----------------------------------------------------------------------------------------------------------


def new_orthonormal_matrix_2d(n: int) -> onp.ndarray:
    """Return a random orthonormal matrix."""
    return onp.linalg.qr(onp.random.randn(n, n))[0]


def new_sym_matrix_with_real_eigvals_2d(n: int) -> onp.ndarray:
    """Return a random symmetric matrix, whose eigenvalues are real."""
    basis = new_orthonormal_matrix_2d(n)
    return basis @ onp.diag(onp.random.uniform(-1, 1, n)) @ basis.T


def new_matrix_with_real_eigvals_2d(n: int) -> onp.ndarray:
    """Return a random matrix with real eigenvalues."""
    basis = new_orthonormal_matrix_2d(n)
    return basis @ onp.triu(onp.random.uniform(-1, 1, (n, n))) @ basis.T


def _stacked(shape: Sequence[int], make: Callable[[int], onp.ndarray]) -> onp.ndarray:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"square matrices were expected, got the shape {tuple(shape)}")
    count = int(onp.prod(shape[:-2]))
    return onp.reshape([make(shape[-1]) for _ in range(count)], tuple(shape))


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> onp.ndarray:
    """Return random matrices with real eigenvalues, in the last two axes."""
    return _stacked(shape, new_matrix_with_real_eigvals_2d)


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> onp.ndarray:
    """Return random symmetric matrices, in the last two axes."""
    return _stacked(shape, new_sym_matrix_with_real_eigvals_2d)


# -- data --------------------------------------------------------------------------------------------------------------


class DummyIter(DataIter):
    """Gives the first batch of an iterator again and again: how fast a training is without reading data."""

    def __init__(self, real_iter: Any) -> None:
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data, self.provide_label = real_iter.provide_data, real_iter.provide_label
        self.the_batch = next(iter(real_iter))

    def next(self) -> Any:
        """Return the batch."""
        return self.the_batch


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """Fetch a file by `gluonx.utils.download`, and return its path.

    Parameters
    ----------
    fname : str, optional
        The last part of the address by default.
    dirname : str, optional
        The folder; made if it is missing.
    """
    path = os.path.join(dirname or "", fname or url.split("/")[-1])
    if dirname:
        os.makedirs(dirname, exist_ok=True)
    return utils.download(url, path, overwrite=overwrite, retries=retries)


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Have a zip archive in the folder `data_dir`, and its files beside it; what is missing is fetched from `url`."""
    archive = os.path.join(data_dir, data_origin_name)
    if not os.path.exists(archive):
        download(url, dirname=data_dir, fname=data_origin_name)
        with zipfile.ZipFile(archive) as file:
            file.extractall(data_dir)


def get_identity_mat(size: int) -> Any:
    """Return the identity matrix, an NDArray (size, size)."""
    return nd.array(onp.eye(size, dtype=onp.float32))


def get_identity_mat_batch(size: int) -> Any:
    """Return two identity matrices, an NDArray (2, size, size)."""
    return nd.array(onp.stack([onp.eye(size, dtype=onp.float32)] * 2))


def is_aarch64_run() -> bool:
    """Return whether this machine is an aarch64."""
    return platform.machine() == "aarch64"


_REPOSITORY = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"
_MNIST = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def _address(name: str) -> str:
    return os.environ.get("MXNET_GLUON_REPO", _REPOSITORY).rstrip("/") + "/" + name


def get_mnist_ubyte(path: str = "data") -> None:
    """Have MNIST's four files in the folder `path`, unpacked; what is missing is fetched."""
    os.makedirs(path, exist_ok=True)
    for name in _MNIST:
        target = os.path.join(path, name)
        if os.path.exists(target):
            continue
        packed = f"{target}.gz"
        if not os.path.exists(packed):
            utils.download(_address(f"gluon/dataset/mnist/{name}.gz"), packed)
        with gzip.open(packed) as source, atomic_write(target) as file:
            shutil.copyfileobj(source, file)


def get_mnist(path: str = "data") -> dict[str, onp.ndarray]:
    """Return MNIST: ``train_data`` and ``test_data`` from 0 to 1 in (n, 1, 28, 28), ``train_label``, ``test_label``."""
    get_mnist_ubyte(path)
    train, train_label, test, test_label = [
        read_idx(os.path.join(path, name), 3 if "idx3" in name else 1) for name in _MNIST
    ]
    images = [x.reshape(-1, 1, *x.shape[1:]).astype(onp.float32) / 255 for x in (train, test)]
    return {
        "train_data": images[0],
        "train_label": train_label,
        "test_data": images[1],
        "test_label": test_label,
    }


def get_mnist_iterator(
    batch_size: int, input_shape: Sequence[int], num_parts: int = 1, part_index: int = 0, path: str = "data"
) -> tuple[Any, Any]:
    """Return iterators over MNIST's training images, shuffled, and test images; of flat ones for the shape (784,).

    Of the training images, the part with this index of so many.
    """
    found = get_mnist(path)
    shape = (-1, *input_shape) if len(input_shape) == 1 else (-1, 1, 28, 28)
    part = slice(part_index, None, num_parts)
    train = NDArrayIter(
        found["train_data"].reshape(shape)[part],
        found["train_label"][part],
        batch_size,
        True,
        last_batch_handle="discard",
    )
    test = NDArrayIter(
        found["test_data"].reshape(shape), found["test_label"], batch_size, False, last_batch_handle="discard"
    )
    return train, test


def get_cifar10(path: str = "data") -> None:
    """Have CIFAR-10 as record files in the folder ``path/cifar``; they are fetched if they are missing."""
    os.makedirs(path, exist_ok=True)
    if os.path.exists(os.path.join(path, "cifar", "train.rec")):
        return
    packed = download("http://data.mxnet.io/mxnet/data/cifar10.zip", "cifar10.zip", path)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(path)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Have a file of that name in a folder; if it is missing, it is fetched from `url` and unpacked."""
    target = os.path.join(data_dir, data_name)
    if os.path.exists(target):
        return
    packed = download(url, data_origin_name, data_dir)
    with bz2.open(packed) as source, atomic_write(target) as file:
        shutil.copyfileobj(source, file)
    os.remove(packed)


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """Return the path of the program ``im2rec``, which packs images into record files.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    found = importlib.util.find_spec("gluonx.data.im2rec")
    if found is None or found.origin is None:
        raise FileNotFoundError("there is no im2rec: gluonx.data.im2rec is not installed")
    return found.origin
