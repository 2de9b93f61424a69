"""Files below are run by the oracle's Python (real MXNet), not collected by pytest."""

collect_ignore_glob = ["*/*.py"]
