"""The programs here are run by tests/test_compat.py through gluonx.compat, not collected by pytest."""

collect_ignore_glob = ["*.py"]
