"""Fitted classifiers over HTTP, and a web page to try them."""

try:
    import fastapi  # noqa: F401
    import prometheus_client  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"`crbm.web` needs `{error.name}`. Install it with `pip install 'crbm[web]'`."
    ) from error

from crbm.web.app import create_app
from crbm.web.models import LoadedModel, load_models

__all__ = ["LoadedModel", "create_app", "load_models"]
