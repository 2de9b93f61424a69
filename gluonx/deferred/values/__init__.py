"""Arrays that may not be computed yet, and the records of what is known of them.

From the ground up: `contracts` (what each part expects of the others), `interrupts` (code that interrupts other code),
`source_location` (the user's line), `core` (handles, pending values, avals, trie nodes, the state of a thread),
`symbols` (what was recorded as a symbol of MXNet), `aliasing` (who else holds a buffer), `index_checks` (indices out of
range), `program_cache` (how much memory programs may take), `shapes` (not known yet), and `vectors` (small arrays kept
as one).
"""
