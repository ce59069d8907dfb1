"""Fitted classifiers over HTTP, and a page to try them on."""

from crbm.web.app import create_app
from crbm.web.served import Served, load_models

__all__ = ["Served", "create_app", "load_models"]
