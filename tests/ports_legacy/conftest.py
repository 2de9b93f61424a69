"""The programs here are run by tests/test_ports.py on a copy whose imports are changed, not collected by pytest."""

collect_ignore_glob = ["*.py"]
