"""The lowest room, on which every other one may build and which no user imports: frames, the process, arguments.

Each module is an idea of its own, and says in its docstring which. None knows of arrays, but for `host`, which hands
NumPy arrays on to JAX.
"""

__all__: list[str] = []
