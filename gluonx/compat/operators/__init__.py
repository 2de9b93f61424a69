"""MXNet 1: its operators, its arrays and its blocks, on gluonx."""
