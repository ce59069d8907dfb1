from discs import disc_model, discs  # noqa: F401 - fixtures
from pets import folder, pets, trained  # noqa: F401 - fixtures
