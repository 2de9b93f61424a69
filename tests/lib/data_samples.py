"""Datasets that worker processes of the tests can import; light, for each worker imports it anew."""

import os
import random
import signal
import time

import numpy as np


class Squares:
    """Sample i is (i, i * i)."""

    def __init__(self, length=20):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return index, np.float32(index * index)


class At:
    """Does `what` at sample `where`, else gives the index."""

    def __init__(self, what, where, length=12):
        self.what, self.where, self.length = what, where, length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if index == self.where:
            self.what()
        return index


class AwkwardError(Exception):
    """Pickled without complaint, but not to be unpickled: two arguments, one kept."""

    def __init__(self, one, two):
        super().__init__(one)
        self.two = two


def fail():
    raise KeyError("no such picture")


def stop_iteration():
    raise StopIteration


def fail_awkwardly():
    raise AwkwardError("one", "two")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    os._exit(3)


def hang():
    time.sleep(60)


class Draws:
    """Draws of the random generators at each sample: random, numpy.random, gluonx.random."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        from gluonx.ops.prng import host_rng

        return np.array([random.random(), np.random.rand(), host_rng().random()])


class Slow:
    """The first samples take longest, so that workers finish out of order."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        time.sleep(0.03 if index % 8 == 0 else 0)
        return index


class Pid:
    """The process that read the sample, whether JAX has a backend there, and its working directory's length."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(0.005)
        return os.getpid()


def add(x, y):
    return x + y


def sums(samples):
    """A batchify function of the user's own: a plain NumPy array stays one."""
    return np.array([a + b for a, b in samples])


def stacked(samples):
    """A batchify function that computes with gluonx."""
    from gluonx.data import batchify

    return batchify.Stack()([a for a, _ in samples])


def unsendable(samples):
    return lambda: samples


def write_to_it(row):
    row += 1
    return row


class Backends:
    """One sample: 1 if the process has started a JAX backend, else 0."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        import jax

        jax.config.update("jax_platforms", "nonexistent")
        try:
            jax.devices()
        except RuntimeError:
            return 0
        return 1


class XLAStarted:
    """A transform, in the form that runs on the host, that tells whether XLA runs in the process."""

    def on_host(self, *sample):
        return np.array([Backends()[0] == 1])


class Blank:
    """Pictures of one colour, which cost nothing to make."""

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return np.full((3, 224, 224), index, np.float32)
