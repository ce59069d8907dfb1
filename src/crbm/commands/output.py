"""Check output paths before the work starts, write tables and save models."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np

from crbm import paths

if TYPE_CHECKING:
    from crbm.estimators import LabelSetClassifier, PixelClassifier

TABLE_ENDINGS = (".csv", ".parquet", ".npz")


class Column(NamedTuple):
    """A named column of a table."""

    name: str
    values: np.ndarray


def check_output_path(path: Path, *, force: bool, endings: Sequence[str]) -> None:
    """Raise unless the path has a known ending and may be written."""
    if path.suffix not in endings:
        known = ", ".join(f"`{ending}`" for ending in endings)
        raise ValueError(f"`{path}` must end in one of {known}.")
    if path.exists() and not force:
        raise FileExistsError(f"`{path}` exists. Choose another name, or add --force.")
    paths.check_writable(path)


def check_not_input(path: Path, inputs: Iterable[Path | str | None]) -> None:
    """Raise if a file to write is one of those to read, whatever its name."""
    read = [Path(name) for name in inputs if name is not None]
    if path.exists() and any(file.exists() and path.samefile(file) for file in read):
        raise ValueError(
            f"`{path}` is read by this command and would be lost. Choose another name."
        )


def check_checkpoint_dir(folder: str | Path | None) -> None:
    """Make the folder of checkpoints; raise unless files can be written to it."""
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        paths.check_writable(Path(folder, "model-0.safetensors"))


def save_or_keep(classifier: LabelSetClassifier | PixelClassifier, path: Path) -> None:
    """Save a classifier; if that fails, save it elsewhere and raise with its path."""
    try:
        classifier.save(path)
    except OSError as error:
        reason = error.strerror or str(error)
        saved = _save_elsewhere(classifier, path.name)
        where = (
            "it could not be saved elsewhere either; free some space and train again"
            if saved is None
            else f"the trained model is in `{saved}`; move it from there"
        )
        raise OSError(f"`{path}` could not be written ({reason}): {where}.") from error


def _save_elsewhere(
    classifier: LabelSetClassifier | PixelClassifier, name: str
) -> Path | None:
    """Save to the first folder that works; returns the path, or None."""
    for place in (tempfile.gettempdir(), Path.cwd(), Path.home()):
        with suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix="crbm-", dir=place))
            try:
                classifier.save(folder / name)
            except OSError:
                folder.rmdir()
            else:
                return folder / name
    return None


def write_table(
    path: Path, columns: Sequence[Column], arrays: dict[str, np.ndarray]
) -> None:
    """Write the columns as CSV or Parquet, or the arrays as NPZ."""
    with paths.replacing(path) as draft:
        if path.suffix == ".npz":
            with draft.open("wb") as stream:
                np.savez_compressed(stream, allow_pickle=False, **arrays)
        elif path.suffix == ".parquet":
            _write_parquet(draft, columns)
        else:
            with draft.open("w", encoding="utf-8", newline="") as text:
                write_csv(text, columns)


def write_csv(stream: TextIO, columns: Iterable[Column]) -> None:
    """Write columns with a header, and floats with six significant digits."""
    names, values = zip(*columns, strict=True)
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for row in zip(*(column.tolist() for column in values), strict=True):
        writer.writerow([short(value) for value in row])


def _write_parquet(path: Path, columns: Sequence[Column]) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            "Writing Parquet needs `pyarrow`. Install it with `pip install crbm[data]`."
        ) from error
    arrays = [pa.array(column.values) for column in columns]
    table = pa.Table.from_arrays(arrays, names=[column.name for column in columns])
    parquet.write_table(table, str(path))


def short(value: Any) -> Any:
    """A float with six significant digits; other values unchanged."""
    return f"{value:.6g}" if isinstance(value, float) else value
