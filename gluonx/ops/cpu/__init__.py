"""Lowerings of operators for CPUs, where XLA's own are slow.

Every workaround for XLA on a CPU is in this package, and nothing else: convolutions (`convolution`, `transposed`,
`channels_last`), reductions, running sums and orders (`reductions`), random bits (`threefry`), and options of XLA's
compiler (`compiler`). Other platforms use XLA's own lowerings.
"""

__all__: list[str] = []
