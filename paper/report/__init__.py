"""Turn the rows of finished runs into tables, plots and pages."""
