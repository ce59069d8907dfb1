"""One module per file format: `read` gives a `Dataset`, `write` takes one."""
