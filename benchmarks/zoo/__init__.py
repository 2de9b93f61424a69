"""Whole models, timed on all sides in one run: ``python -m benchmarks.zoo`` (``make bench-models``).

`cases` says what is measured and knows no framework. Each side is one module that writes all workloads in the shortest
clear way of its framework: `gluon` (gluonx, and MXNet 2.0 by the same text), `byhand` (JAX with optax), `nnx` (Flax),
`torches` (PyTorch). A side runs in a process of its own, served by `worker`; `host` gives all of them the same weights,
checks that their first losses agree, and times them in turns; `roofline` says what the machine could do at best, and
`report` makes the table. `cases` and `worker`, `gluon` and `torches` also run on the older Pythons that MXNet needs.
"""
