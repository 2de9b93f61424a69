"""Tools of the project: they read tests, docs and registries, and are no part of the wheel."""
