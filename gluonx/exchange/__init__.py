"""Doors to other formats: `gluonx.exchange.stablehlo` writes and loads StableHLO artifacts."""
