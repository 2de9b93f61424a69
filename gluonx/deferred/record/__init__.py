"""Recording: the door that every operator goes through, the pending graph, and gradients as one more node of it.

From the ground up: `graph` (the path down the trie), `integers` (gradients of integers, on request), `engine` (the
door, `invoke`), `rows` (gradients by rows), `placing` (arrays on a mesh), `interceptor` (who observes operators), and
`tape`, which `backward` is.
"""
