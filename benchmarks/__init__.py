"""The measurements of gluonx: ``python -m benchmarks`` prints the table and writes benchmarks/RESULTS.md."""
