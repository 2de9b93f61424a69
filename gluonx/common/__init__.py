"""What every room may build on and no user imports: frames, the process, checks of arguments, tables.

Each module is an idea of its own, and says in its docstring which. None knows of arrays, but for `host`, which hands
NumPy arrays on to JAX.
"""

__all__: list[str] = []
