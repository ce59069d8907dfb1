"""The paper's experiments: their runs, their tables and the report on them."""
