"""MXNet 2.0's public names against gluonx: what is here, with the same signature, tested; what is not, and why.

``python -m tools.parity`` prints the tables, ``--write`` makes them a page of the documentation. The inventory
beside this file holds names and signatures only. A tool for those who develop or port: nothing else imports it.
"""

from tools.parity.inventory import Row, load, rows
from tools.parity.page import page

__all__ = ["Row", "load", "page", "rows"]
