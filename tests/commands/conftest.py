from pets import folder, pets, trained  # noqa: F401 - fixtures
