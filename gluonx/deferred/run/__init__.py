"""Running pending operators, by NumPy or by XLA.

When a program is compiled, :mod:`gluonx.common.policy` says. From the ground up: `beside` (compiling in a thread of its
own), `host` (NumPy runs an operator, a forward, a program), `program` (a path of the trie as one XLA program),
`repeats` (long paths in pieces), `notice` (a line on the terminal while the compiler works), and `flushing`, which
chooses.
"""
