"""Lowerings of operators for CPUs, where XLA's own are slow.

Every workaround for XLA on a CPU is in this package, and nothing else: convolutions (`convolution`, `transposed`,
`channels_last`) and what XLA's compiler is told for those left to it (`compiler`), reductions, running sums and orders
(`reductions`), random bits (`threefry`). Other platforms use XLA's own lowerings.
"""

__all__: list[str] = []
