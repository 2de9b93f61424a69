"""Arrays that may not be computed yet, and the records of what is known of them.

From the ground up: `contracts` (what each part expects of the others), `core` (handles, pending values, avals, trie
nodes, the state of a thread), `shapes` (not known yet), `vectors` (small arrays kept as one), `aliasing` (who else
holds a buffer), `program_cache` (how much memory programs may take), and what is asked about the moment: the user's
line (`source_location`), code that interrupts other code (`interrupts`), indices out of range (`index_checks`).
"""
