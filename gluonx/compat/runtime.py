"""``mxnet.runtime``: what this installation can do.

The names of MXNet's features are all there; most of them speak of how MXNet's C library was built and are off. Those
that ask for a device or a property of arrays answer for JAX on this machine.
"""

from __future__ import annotations

from typing import NamedTuple

from gluonx.device import num_gpus, num_tpus

__all__ = ["Feature", "Features", "feature_list", "get_branch", "get_commit_hash"]

_BUILD = (
    "CUDA CUDNN NCCL TENSORRT CUTENSOR CPU_SSE CPU_SSE2 CPU_SSE3 CPU_SSE4_1 CPU_SSE4_2 CPU_SSE4A CPU_AVX CPU_AVX2 "
    "OPENMP SSE F16C JEMALLOC BLAS_OPEN BLAS_ATLAS BLAS_MKL BLAS_APPLE LAPACK ONEDNN OPENCV DIST_KVSTORE "
    "INT64_TENSOR_SIZE SIGNAL_HANDLER DEBUG TVM_OP"
)


class Feature(NamedTuple):
    """A feature by its name, and whether it is there.

    Examples
    --------
    >>> Feature("CUDA", False)
    ✖ CUDA
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def _found() -> dict[str, bool]:
    cuda = num_gpus() > 0
    here = {
        "CUDA": cuda,
        "CUDNN": cuda,
        "NCCL": cuda,
        "LAPACK": True,
        "INT64_TENSOR_SIZE": True,
        "TPU": num_tpus() > 0,
        "XLA": True,
    }
    return {**dict.fromkeys(_BUILD.split(), False), **here}


class Features(dict[str, Feature]):
    """The features by name.

    Examples
    --------
    >>> Features().is_enabled("XLA")
    True
    """

    def __init__(self) -> None:
        super().__init__({feature.name: feature for feature in feature_list()})

    def is_enabled(self, feature_name: str) -> bool:
        """Return whether a feature is there.

        Raises
        ------
        RuntimeError
            If there is no feature of this name.
        """
        name = feature_name.upper()
        if name not in self:
            raise RuntimeError(f"feature {feature_name!r} is unknown; known are {', '.join(self)}")
        return self[name].enabled

    def __repr__(self) -> str:
        return str(list(self.values()))


def feature_list() -> list[Feature]:
    """All features."""
    return [Feature(name, enabled) for name, enabled in _found().items()]


def get_branch() -> str:
    """Kept for ported code: gluonx is not built from a branch, so this is its version."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("gluonx")
    except PackageNotFoundError:
        return "unknown"


def get_commit_hash() -> str:
    """Kept for ported code: no commit is recorded in a package; an empty string."""
    return ""


def __dir__() -> list[str]:
    return sorted(__all__)
