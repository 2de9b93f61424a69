"""Helpers of several test files: tables of layers and operators, sweeps over them, samples, golden numbers."""

import pathlib

__all__ = ["ROOT", "TESTS"]

TESTS = pathlib.Path(__file__).parent.parent
ROOT = TESTS.parent
