"""Running pending operators, by NumPy or by XLA.

From the ground up: `policy` (when a program is compiled), `beside` (compiling in a thread of its own), `host` (NumPy
runs an operator, a forward, a program), `program` (a path of the trie as one XLA program), `repeats` (long paths in
pieces), `notice` (a line on the terminal while the compiler works), and `flushing`, which chooses.
"""
