"""From rows of finished runs to tables, curves and pages."""
