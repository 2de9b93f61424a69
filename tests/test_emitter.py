"""The choice of XLA's code generator for loops on a CPU: made at import, left alone where the user made one."""

import os
import subprocess
import sys

import pytest

from gluonx.emitter import OPTION, choose

PROGRAM = """
import jax, jax.numpy as jnp
import gluonx
from gluonx import np
(np.ones((64, 64, 3, 3)) + np.ones((64, 64, 3, 3))).wait_to_read()
jax.jit(lambda a, b: a + b)(jnp.ones((64, 64, 3, 3)), jnp.ones((64, 64, 3, 3))).block_until_ready()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, OPTION),
        ({"XLA_FLAGS": "  "}, OPTION),
        ({"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}, f"--xla_cpu_max_isa=AVX2 {OPTION}"),
        ({"XLA_FLAGS": "--xla_backend_extra_options=mine"}, "--xla_backend_extra_options=mine"),
        ({"XLA_FLAGS": "/a/file/of/flags"}, "/a/file/of/flags"),
        ({"GLUONX_XLA_TILES": "1"}, None),
        ({"GLUONX_XLA_TILES": "0"}, OPTION),
    ],
)
def test_what_is_there_is_respected(before, after):
    choose(before)
    assert before.get("XLA_FLAGS") == after
    choose(before)
    assert before.get("XLA_FLAGS") == after


@pytest.mark.parametrize("tiles", ["", "1"])
def test_the_sum_of_two_arrays_is_not_written_in_tiles(tmp_path, tiles):
    """Read from the names of what XLA writes out, in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    environment |= {"XLA_FLAGS": f"--xla_dump_to={tmp_path}", "GLUONX_XLA_TILES": tiles, "GLUONX_CACHE_DIR": ""}
    environment |= {"JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment, timeout=120)
    sums = [path.name for path in tmp_path.iterdir() if "wrapped_add" in path.name and path.suffix in (".ll", ".o")]
    assert sums
    assert any("__compute_module_wrapped_add" in name for name in sums) == bool(tiles)
