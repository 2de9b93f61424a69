"""Operators that the engine makes, and what it keeps of each: the node, the trace, the program for NumPy.

From the ground up: `derived` (an operator made of others, and the one function that runs any), `lengths` (one trace
for all lengths), `growth` (a new node of the trie), `segments` (parts of the tape that are computed already),
`untraced` and `linking` (a program for NumPy from kernels and traces), `primitive` (an operator as one equation of a
block's trace), `amp_policy` (another precision), `linalg_checks` (matrices without an inverse).
"""
