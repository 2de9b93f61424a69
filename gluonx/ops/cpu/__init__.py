"""Forms of operators for CPUs, where XLA's own are slow.

Every workaround for XLA on a CPU lives here, and nothing else: convolutions (`convolution`, `transposed`,
`channels_last`), reductions, running sums and orders (`reductions`), random bits (`threefry`). Other platforms keep
XLA's own forms.
"""

__all__: list[str] = []
