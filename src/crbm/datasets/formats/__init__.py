"""File formats, one module each: `read` returns a `Dataset`, `write` writes one."""
