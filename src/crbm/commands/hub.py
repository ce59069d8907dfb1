"""`crbm push` and `crbm pull`: model files on the Hugging Face hub."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crbm import paths
from crbm.commands import inspect
from crbm.commands.card import card
from crbm.commands.output import check_output_path
from crbm.commands.pixels import inspect as of_pixels
from crbm.commands.pixels.model import load_if_pixels
from crbm.estimators import load

FILE = "model.safetensors"
LONGEST_REASON = 200


def push(model: Path | str, repository: str, *, private: bool | None = None) -> str:
    """Upload a model file and its card; returns the address.

    Parameters
    ----------
    model
        The model file; it is loaded first, so that a damaged one is refused.
    repository
        "owner/name" on the hub. It is created where it does not exist.
    private
        Whether a new repository is private; None for the account's default.
    """
    hub = _hub()
    pixels = load_if_pixels(model)
    report = inspect.run(model) if pixels is None else of_pixels.run(pixels, model)
    text = card(report | {"file": FILE}).replace("# model", f"# {repository}", 1)
    api = hub.HfApi()
    with _one_line("uploaded to", repository, hub):
        address = api.create_repo(repository, private=private, exist_ok=True)
        files = {FILE: str(model), "README.md": text.encode()}
        api.create_commit(
            repository,
            [hub.CommitOperationAdd(name, content) for name, content in files.items()],
            commit_message="Upload a crbm model",
        )
    return str(address)


def pull(
    repository: str,
    out: Path | None = None,
    *,
    revision: str | None = None,
    force: bool = False,
) -> Path:
    """Download a model file; returns its path.

    Parameters
    ----------
    repository
        "owner/name" on the hub.
    out, force
        The new .safetensors file, by default NAME.safetensors, and whether an existing
        file may be replaced. Files that are no complete model are refused.
    revision
        A branch, tag or commit.
    """
    hub = _hub()
    out = Path(f"{repository.split('/')[-1]}.safetensors") if out is None else out
    check_output_path(out, force=force, endings=(".safetensors",))
    with _one_line("downloaded from", repository, hub):
        found = hub.HfApi().hf_hub_download(repository, FILE, revision=revision)
    load(found)
    with paths.replacing(out) as draft:
        shutil.copyfile(found, draft)
    return out


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError as error:
        raise ImportError(
            "Models on the hub need `huggingface_hub`. Install it with "
            "`pip install 'crbm[hub]'`."
        ) from error
    return huggingface_hub


@contextmanager
def _one_line(what: str, repository: str, hub: Any) -> Iterator[None]:
    """Report errors of the hub and of the network in one line."""
    try:
        yield
    except hub.errors.HFValidationError as error:
        raise ValueError(
            f"`{repository}` is not a repository of the hub; write `owner/name`."
        ) from error
    except hub.errors.RepositoryNotFoundError as error:
        raise ValueError(
            f"There is no repository `{repository}`, or it is private and "
            "`hf auth login` was not run."
        ) from error
    except OSError as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise OSError(
            f"The model could not be {what} `{repository}`: {reason[:LONGEST_REASON]}"
        ) from error
