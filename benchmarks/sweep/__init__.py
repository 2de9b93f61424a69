"""Single operators, timed on all sides in turns: ``python -m benchmarks.ops`` (``make bench-ops``).

`cases` says what is measured and knows no framework. A side is one module that gives each operator in its framework's
shortest clear form: `ours` (gluonx), `plain` (JAX as one writes it by hand), `torches` (PyTorch) and `mxnets` (MXNet
2.0). A side runs in a process of its own, served by `worker`. All of it but `ours` and `plain` also runs on the older
Pythons that MXNet needs.
"""
