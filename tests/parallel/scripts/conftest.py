"""The programs here are run in processes of their own by tests of this folder and of tests/compat, not collected."""

collect_ignore_glob = ["*.py"]
