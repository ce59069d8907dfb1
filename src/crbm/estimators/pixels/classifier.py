"""The estimator that labels pixels."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Generator, Tensor, nn

from crbm import checks, training
from crbm.energies import Energy
from crbm.estimators import encoding, members
from crbm.estimators.pixels import answers, arrays, augmentation, files, parameters
from crbm.estimators.pixels.answers import Labeller
from crbm.estimators.pixels.batches import ImageBatches, Scaling
from crbm.models import ConvCRBM, unet_versions
from crbm.models.unet import UNet
from crbm.objectives import ExactLikelihood, Objective, Perceptron
from crbm.training import distributed
from crbm.training.randomness import seeding
from crbm.training.schedule import OneCycleSchedule
from crbm.units import BERNOULLI, Categorical

# How much the likelihood of single pixels counts beside that of the mask.
MARGINALS = 3.0


@dataclass(eq=False, repr=False, kw_only=True)
class PixelClassifier(BaseEstimator):  # type: ignore[misc]
    """Labels every pixel of an image, or restores a noisy image.

    A network computes from the image how likely each label of each pixel is, and
    hidden units model how the labels depend on each other: a joint distribution
    p(mask | image) with marginals, coherent samples, and answers given pixels that are
    known. With the default hidden units all of these are exact. Images may differ in
    size. The number of channels is that of the training images.

    Parameters
    ----------
    network
        Computes the fields of the model from images: "unet", a built-in small U-Net;
        None, a convolution with a window of `kernel_size` (linear in the image, as in
        the paper); an `nn.Module` from (batch, channels, height, width) to (batch,
        n_maps, height, width), see `ConvCRBM`; or a function that makes one, called
        with the numbers of channels and of maps.
    channels
        Channels of each level of the U-Net; the resolution halves from one to the next.
    patch
        Side of the squares of pixels that the U-Net takes as one position: 2 is four
        times as fast as 1, which resolves finer detail.
    n_hidden
        Values of a hidden unit of the whole image, whose couplings to the pixels the
        network computes: ways in which a mask can be completed. They are summed out. 0
        for none: then pixels are independent given the image.
    n_hidden_channels, kernel_size
        Maps of hidden units coupled to the pixels around them, instead of a unit of the
        whole image, and the side of their window. Inference is approximate then.
    objective
        The objective of training; by default the exact likelihood of the mask and that
        of its single pixels, which counts three times, or CD-PercLoss where there are
        maps of hidden units.
    prediction
        "marginals": each pixel has its likeliest label, which makes few errors per
        pixel; "mode": a likely mask as a whole, which makes more masks entirely right.
    n_labels
        Number of labels; by default one more than the largest in the masks.
    ignore
        Value of pixels without a label in `masks` and `known`.
    augment
        Changes of the training images: True for flips (left to right), shifts,
        scaling, rotation and colour; names of some of them, e.g. ("shift", "colour");
        False; or a function that is called with a batch of images (batch, channels,
        height, width), their masks (batch, height, width) and a generator, and returns
        both, changed, e.g. with fresh noise.
    mirror
        Whether predictions are the mean of those for an image and for its mirror image,
        which takes twice as long; None does so where training flips images and hidden
        units have no maps.
    n_epochs, batch_size, learning_rate
        Passes over the images, images per update, and the largest step size of AdamW;
        it rises for a tenth of the updates and then falls to 0.
    random_state
        Seed of all randomness, as in scikit-learn.
    precision
        Of the convolutions of the U-Net while it is trained: "float32"; "bfloat16",
        twice as fast on processors that compute with it; or "auto", the latter on
        those. Predictions are always made in float32.
    n_threads
        Threads to compute with; chosen by size unless given.
    progress
        Whether to show the progress of training; None does so on a terminal only.

    Attributes
    ----------
    model_
        The trained `ConvCRBM`.
    history_
        The record of its training.
    classes_
        The labels, 0 to K - 1.
    n_channels_
        Channels of the images.
    mirrors_
        Whether predictions use mirror images.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> images = [rng.random((12, 16)), rng.random((8, 10))]
    >>> masks = [(image > 0.5).astype(int) for image in images]
    >>> classifier = PixelClassifier(channels=(4, 8), n_epochs=2, random_state=0)
    >>> classifier = classifier.fit(images, masks)
    >>> [mask.shape for mask in classifier.predict(images)]
    [(12, 16), (8, 10)]
    >>> classifier.predict_proba(images[0]).shape
    (12, 16, 2)
    >>> classifier.sample(images[0], n=3, random_state=0).shape
    (3, 12, 16)
    """

    # scikit-learn wants wrong parameters stored here and refused in `fit`
    __no_type_check__ = True

    network: Any = "unet"
    channels: Sequence[int] = (32, 64, 64)
    patch: int = 2
    n_hidden: int = 8
    n_hidden_channels: int = 0
    kernel_size: int = 7
    objective: Objective | None = None
    prediction: str = "marginals"
    n_labels: int | None = None
    ignore: int = -1
    augment: Any = True
    mirror: bool | None = None
    n_epochs: int = 100
    batch_size: int = 8
    learning_rate: float = 4e-3
    random_state: Any = None
    precision: str = "auto"
    n_threads: int | None = None
    progress: bool | None = False

    # Learning

    def fit(self, images: Any, masks: Any) -> PixelClassifier:
        """Learn from images and the labels of their pixels.

        Parameters
        ----------
        images
            A list of (height, width) or (height, width, channels) arrays of any sizes,
            of whole or real numbers; an array of images of one size; or one image.
        masks
            For each image the labels of its pixels, (height, width) whole numbers from
            0 to K - 1; `ignore` or NaN marks pixels without a label.
        """
        self._check_parameters()
        with members.all_or_nothing(self):
            self._fit(images, masks)
        return self

    def _fit(self, images: Any, masks: Any) -> None:
        given = arrays.to_images(images, masks=masks)
        labels = arrays.to_masks(masks, given, self.ignore)
        self.n_channels_ = given.arrays[0].shape[-1]
        self.n_labels_ = arrays.count_labels(labels, self.n_labels)
        self.classes_ = np.arange(self.n_labels_)
        self.scaling_ = Scaling.fit(given.arrays)
        self.mirrors_ = self._mirrors()
        generator = encoding.fit_generator(self.random_state)
        self.model_ = self._new_model(generator)
        self._start_network(labels)
        batches = ImageBatches(
            *(given.arrays, labels, self.n_labels_, self.scaling_),
            augmentation.choose(self.augment),
            self.batch_size,
        )
        self.history_ = self._train(batches, generator)

    @torch.no_grad()
    def _start_network(self, labels: Sequence[np.ndarray]) -> None:
        """Start the built-in network at the frequencies of the labels."""
        network = self.model_.network
        if not isinstance(network, UNet):
            return
        counts = sum(
            np.bincount(mask[mask >= 0], minlength=self.n_labels_) for mask in labels
        )
        total = torch.as_tensor(counts, dtype=torch.float32)
        units = self.model_.visible
        count = total.sum().expand(self.n_labels_)
        field = units.starting_field(total, count)[-units.width :]
        couplings = units.width + self.model_.n_modes
        network.start(field, small=slice(couplings, None))

    def _train(self, batches: ImageBatches, generator: Generator) -> training.History:
        return training.fit(
            self.model_,
            self._objective(),
            batches.loader(),
            n_epochs=self.n_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            generator=generator,
            optimizer=partial(torch.optim.AdamW, fused=True),
            hooks=[OneCycleSchedule(batches.n_batches)],
            n_threads=self.n_threads,
            progress=self.progress,
            ranks=distributed.current(),
        )

    def _mirrors(self) -> bool:
        if self.mirror is not None:
            return bool(self.mirror)
        return augmentation.flips(self.augment) and not self.n_hidden_channels

    def _objective(self) -> Objective:
        if self.objective is not None:
            return self.objective
        if self.n_hidden_channels:
            return Perceptron()
        return ExactLikelihood(marginals=MARGINALS if self.n_hidden else 0.0)

    def _new_model(
        self, generator: Generator | None, network_version: int = unet_versions.NEWEST
    ) -> ConvCRBM:
        visible = BERNOULLI if self.n_labels_ == 2 else Categorical(self.n_labels_)
        n_modes = 0 if self.n_hidden_channels else self.n_hidden
        make = partial(
            ConvCRBM,
            self.n_channels_,
            self.n_hidden_channels,
            self.kernel_size,
            generator,
            visible=visible,
            n_modes=n_modes,
            dtype=torch.float32,
        )
        if self.network is None:
            return make()
        with seeding(generator, stream=3):  # modules draw from the global generator
            n_maps = visible.width * (1 + n_modes) + n_modes + self.n_hidden_channels
            return make(network=self._new_network(n_maps, network_version))

    def _new_network(self, n_maps: int, version: int) -> nn.Module:
        if self.network == "unet":
            sizes = self.n_channels_, n_maps, self.channels, self.patch
            network = unet_versions.make(version, *sizes, precision=self.precision)
        elif isinstance(self.network, nn.Module):
            network = copy.deepcopy(self.network)
        else:
            network = self.network(self.n_channels_, n_maps)
        return network.float()

    def _check_parameters(self) -> None:
        parameters.check(self)

    # Prediction

    def predict(self, images: Any, known: Any = None) -> Any:
        """The label of each pixel, as masks (height, width) in the form of `images`.

        Parameters
        ----------
        images
            Images in any of the forms that `fit` takes.
        known
            Masks with the labels of pixels that are known already, `ignore` or NaN
            where they are not; predictions are made given them.
        """
        infer = answers.mode if self.prediction == "mode" else answers.likeliest
        return self._answer(images, known, infer, Labeller.labels)

    def predict_proba(self, images: Any, known: Any = None) -> Any:
        """Probabilities of the labels of each pixel, (height, width, labels)."""
        infer, decode = answers.marginals, Labeller.probabilities
        return self._answer(images, known, infer, decode, last_axis=-3)

    def sample(
        self, images: Any, n: int = 5, known: Any = None, random_state: Any = None
    ) -> Any:
        """`n` masks of each image, (n, height, width), drawn from p(mask | image)."""
        checks.whole_number("n", n, at_least=1)
        generator = encoding.to_generator(random_state)

        def draw(energy: Energy) -> Tensor:
            return answers.sample(energy, n, generator).movedim(0, 1)

        return self._answer(images, known, draw, Labeller.labels)

    def score_samples(self, images: Any, masks: Any = None) -> Float[np.ndarray, " n"]:
        """Log p(mask | image) of each mask; pixels without a label are summed out.

        Without masks, that of the predicted ones: how sure the prediction is of the
        whole.
        """
        check_is_fitted(self)
        masks = self.predict(images) if masks is None else masks
        given = arrays.to_images(images, self.n_channels_, masks)
        labels = self._known(masks, given, "masks")
        scores = np.zeros(len(given.arrays))
        labeller = self._labeller
        for places, energy, _ in labeller.condition(given.arrays):
            v = labeller.encode([labels[place] for place in places])
            scores[places] = answers.log_probability(energy, v).numpy()
        return scores

    def score(self, images: Any, masks: Any) -> float:
        """The share of labelled pixels whose label is predicted correctly."""
        check_is_fitted(self)
        given = arrays.to_images(images, self.n_channels_, masks)
        truth = arrays.to_masks(masks, given, self.ignore)
        predicted = self.predict(given.arrays)
        pairs = [(t[t >= 0], p[t >= 0]) for t, p in zip(truth, predicted, strict=True)]
        right = np.concatenate([t == p for t, p in pairs])
        return float(right.mean())

    @property
    def _labeller(self) -> Labeller:
        return Labeller(self.model_, self.scaling_, self.n_labels_, self.mirrors_)

    def _known(
        self, known: Any, given: arrays.Collection, name: str = "known"
    ) -> list[np.ndarray]:
        masks = arrays.to_masks(known, given, self.ignore, name=name)
        largest = max(int(mask.max()) for mask in masks)
        if largest >= self.n_labels_:
            raise ValueError(
                f"`{name}` must hold labels from 0 to {self.n_labels_ - 1}; got "
                f"{largest}."
            )
        return masks

    def _answer(
        self,
        images: Any,
        known: Any,
        infer: Callable[[Energy], Tensor],
        decode: Callable[[Labeller, Tensor, tuple[int, int]], np.ndarray],
        last_axis: int = -1,
    ) -> Any:
        """An answer per image, large images in overlapping windows."""
        check_is_fitted(self)
        given = arrays.to_images(images, self.n_channels_, known)
        masks = None if known is None else self._known(known, given)
        found = answers.by_window(self._labeller, given.arrays, masks, infer, decode)
        return given.like_input([np.moveaxis(each, last_axis, -1) for each in found])

    # Files

    def describe(
        self, *, trained_on: dict[str, Any] | None = None, examples: Any = None
    ) -> PixelClassifier:
        """Add a description that is saved with the classifier.

        Parameters
        ----------
        trained_on
            Plain data about the training images, e.g. the names of their labels.
        examples
            Images to try the classifier on.
        """
        check_is_fitted(self)
        if trained_on is not None:
            self.trained_on_ = dict(trained_on)
        if examples is not None:
            given = arrays.to_images(examples, self.n_channels_).arrays
            self.examples_ = [
                image.squeeze(-1) if image.shape[-1] == 1 else image for image in given
            ]
        return self

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to one .safetensors file."""
        check_is_fitted(self)
        files.save(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "history_")
