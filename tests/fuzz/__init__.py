"""Random programs against references: a few of each in `make test`, 10,000 of each in `make test-all`."""
