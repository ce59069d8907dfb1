"""Run declared experiments: a store of results, parallel runs, parameter tuning."""
