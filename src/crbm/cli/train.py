"""`crbm train`: fit a model to a data set and save it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from crbm.cli import options, show
from crbm.cli.errors import plain_errors
from crbm.commands.reading import Reading

PREPROCESSING = (
    "none, standardise, centre, unit-norm, robust, log, rank, kernel, rbf, rbf-centre "
    "or rbf-rank"
)


PIXELS = "pixels"  # the model of images


def _model_names() -> list[str]:
    from crbm.commands.train import MODELS

    return [*MODELS, PIXELS]


def _check_model(context: Any, name: str | None) -> str | None:
    # shell completion must not wait for torch
    if name is None or context.resilient_parsing:
        return name
    names = _model_names()
    if name not in names:
        known = ", ".join(f"'{known}'" for known in names)
        raise typer.BadParameter(f"'{name}' is not one of {known}.")
    return name


@plain_errors
@options.with_training_options
def train(
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Model file to write (.safetensors).")],
    *,
    model: Annotated[
        str | None,
        typer.Option(
            callback=_check_model,
            autocompletion=_model_names,
            help="Kind of model: auto, hash-crbm, crbm, crf or logreg. Default: auto, "
            "or hash-crbm with options that only single models have, or pixels for "
            "images.",
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a classifier parameter, e.g. `--set n_hidden=256`. May be "
            "repeated.",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of passes over the training data of a single model. "
            "Default: at most 100, fewer if the error on held-out rows stops falling.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="What the predictions of auto should be best at: hamming, "
            "subset_accuracy, example_f1, micro_f1, macro_f1, jaccard or log_loss."
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Seconds that auto may take."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    preprocessing: Annotated[
        str | None,
        typer.Option(
            "--preprocessing",
            "--scale",
            metavar="KIND",
            help=f"Preprocessing of the inputs, saved with the model: {PREPROCESSING}. "
            "Default: auto, which tries scalings and kernels on left-out rows.",
        ),
    ] = None,
    validation: Annotated[
        float | None,
        typer.Option(
            help="Fraction of the rows to hold out. The epoch with the lowest error on "
            "them is kept."
        ),
    ] = None,
    examples: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of rows of the data to keep in the model file, which the page "
            "of `crbm serve` offers as examples.",
        ),
    ] = 8,
    masks: options.Masks = None,
    threshold: options.Threshold = None,
    ignore: options.Ignore = None,
    held_out: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.5,
            help="Fraction of the rows to measure the error on. The saved model learns "
            "from all rows; a second fit without these rows predicts them, so that "
            "training takes about twice as long. 0 skips it.",
        ),
    ] = 0.1,
    checkpoint_dir: Annotated[
        Path | None,
        typer.Option(help="Folder for checkpoints, used by this run alone."),
    ] = None,
    checkpoint_every: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Seconds between two checkpoints."),
    ] = 60,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the latest checkpoint.")
    ] = False,
    progress: options.Progress = None,
    reading: Reading,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Train a model on DATA, save it, and measure its error on held-out rows.

    A page about the model is written beside it (MODEL.report.html). DATA may be a
    folder of images with --masks: then each pixel gets a label. DATA may also be a
    folder of Parquet or Arrow files, which is read a piece at a time.
    """
    from crbm.commands import stored, train as command
    from crbm.commands.pixels.data import ImageReading, check_folder, is_images

    shared = {"random_state": seed, "progress": progress}
    of_fit = _given(
        metric=metric,
        time_limit=time_limit,
        checkpoint_dir=checkpoint_dir,
        checkpoint_every=None if checkpoint_dir is None else checkpoint_every,
        resume=resume or None,
    )
    chosen = command.parse_parameters(parameters or ())
    if masks is None and stored.is_stored(data):
        _refuse(
            "folders of tables",
            validation=validation,
            metric=metric,
            time_limit=time_limit,
        )
        of_run = _given(n_epochs=epochs or 30, checkpoint_dir=checkpoint_dir)
        report = stored.train(
            data,
            out,
            model=model,
            parameters={**shared, **of_run, **_given(resume=resume or None), **chosen},
            preprocessing=preprocessing,
            reading=reading,
            force=force,
        )
        show.training(report, as_json=as_json)
        return
    if masks is not None or model == PIXELS or is_images(data):
        from crbm.commands.pixels import train as pixels

        check_folder(data)
        of_fit |= {"preprocessing": preprocessing, "validation": validation}
        _refuse("images", **of_fit)

        report = pixels.run(
            data,
            out,
            parameters={**shared, **_given(n_epochs=epochs), **chosen},
            held_out=held_out,
            reading=ImageReading.of(reading, masks, threshold, ignore),
            n_examples=examples,
            force=force,
        )
        show.training(report, as_json=as_json)
        return
    report = command.run(
        data,
        out,
        model=model,
        parameters={
            **shared,
            **_given(n_epochs=epochs),
            **of_fit,
            **chosen,
        },
        preprocessing=preprocessing,
        validation=validation,
        held_out=held_out,
        reading=reading,
        n_examples=examples,
        force=force,
    )
    show.training(report, as_json=as_json)


def _refuse(what: str, **options: Any) -> None:
    """Raise if an option was given that does not go with such data."""
    for name in _given(**options):
        flag = name.replace("_", "-")
        raise ValueError(f"--{flag} does not apply to {what}. Leave it out.")


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}
