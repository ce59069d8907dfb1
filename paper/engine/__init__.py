"""Run what is declared: store of rows, parallel runs, choice of parameters."""
