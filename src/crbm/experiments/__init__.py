"""Experiments: declared runs on real data, and what came out of them."""
