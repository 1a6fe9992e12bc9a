"""The full path from stored pixels to the network's input: pixel rule, then MONAI chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from medldr import plugins
from medldr.config import PluginSection
from medldr.errors import InputError
from medldr.folders.preprocessing_record import Preprocessing
from medldr.transforms._chain import Chain, build_chain
from medldr.transforms._each_view import ChainOfEachView, RuleOfEachView
from medldr.transforms._views import SampleMaker, check_views
from medldr.transforms.base import Entry, ImageShape, PixelRule, TransformConfig, memory_format


class Pipeline:
    """One pixel rule and two chains; the same object trains, evaluates and predicts.

    Attributes:
        rule: The preset's pixel rule.
        train: MONAI transforms of each training sample, or None.
        eval: MONAI transforms of each evaluated sample, or None.
        views: What makes extra views of a training sample, for algorithms that ask for them; the
            same rule and chain unless a section of their own is given.
        has_own_views: Whether there is such a section.
        input: Shape of a stored image.
        output: Shape of what the network receives.
    """

    def __init__(
        self, rule: PixelRule, train: Chain | None, evaluate: Chain | None, shape: ImageShape
    ) -> None:
        self.rule = rule
        self.train = train
        self.eval = evaluate
        self.input = shape
        self.views = self._trained = SampleMaker(rule, train)
        self.has_own_views = False
        evaluated = rule.output if evaluate is None else evaluate.output_shape(rule.output)
        if self._trained.output != evaluated:
            raise InputError(
                "the network needs one image shape, but transform.train gives "
                f"{self._trained.output}, transform.eval gives {evaluated}. Resize or crop in both "
                "lists, or end transform.train with a step that restores the size."
            )
        self.output: ImageShape = evaluated

    @property
    def random(self) -> bool:
        """Whether a training sample is another one at each draw."""
        return self._trained.random

    def take_views(self, views: SampleMaker) -> None:
        """Have extra views made in another way than the images.

        Raises:
            InputError: If they are not what the network sees otherwise; see
                `medldr.transforms._views.check_views`.
        """
        lists = (self.train, self.eval, views.chain)
        alone = all(each is None for each in lists)
        check_views(views, self.rule, self.output, self.input, compare=alone)
        self.views = views
        self.has_own_views = True

    def sample(
        self,
        image: Tensor,
        *,
        train: bool,
        uniform: Tensor | None = None,
        entropy: Sequence[int] = (),
    ) -> Tensor:
        """One stored image ``(C, [D,] H, W)`` through rule and chain, on the CPU.

        Args:
            image: Stored pixels, uint8 or float32; see `medldr.transforms.base`.
            train: Whether this is a training sample.
            uniform: ``(rule.draws,)`` numbers from [0, 1), where the rule draws.
            entropy: What the chain's randomness is made of, such as (seed, epoch, index).

        Returns:
            ``(C', [D',] H', W')`` float32.
        """
        if train:
            return self._trained(image, uniform=uniform, entropy=entropy)
        ruled = self.rule(image[None], train=False)[0].contiguous()
        return ruled if self.eval is None else self.eval(ruled)

    def evaluate(self, image: Tensor) -> Tensor:
        """Stored images ``(B, C, [D,] H, W)`` as evaluation and prediction see them.

        Returns:
            ``(B, C', [D',] H', W')`` float32, channels last in memory, on the images' device.
        """
        if self.eval is None:
            ruled = self.rule(image, train=False)
        else:
            ruled = torch.stack([self.sample(one, train=False) for one in image.cpu()])
        ruled = ruled.to(image.device)
        return ruled.contiguous(memory_format=memory_format(ruled.ndim - 2))


def build_pixel_rule(config: TransformConfig, shape: ImageShape, views: int = 1) -> PixelRule:
    """The pixel rule of a preset for stored images of this shape.

    Args:
        config: The preset's section.
        shape: Of a stored image, with all its views.
        views: How many views it has; the rule treats each as an image.

    Raises:
        InputError: If the preset does not fit the images.
    """
    module: Any = plugins.load("transforms", config.name)
    one = ImageShape(shape.channels // views, shape.spatial_size)
    rule: PixelRule = module.build(config, one)
    return rule if views == 1 else RuleOfEachView(rule, views)


def build_pipeline(
    config: TransformConfig, shape: ImageShape, *, floating: bool = False, views: int = 1
) -> Pipeline:
    """Rule and chains of a ``transform`` section for stored images of this shape.

    Args:
        config: The section.
        shape: Of a stored image, with all its views.
        floating: Whether stored pixels are float32 in [0, 1]; else they are uint8.
        views: How many views each item has.

    Raises:
        InputError: If the preset does not fit the images, or a line of a list is wrong.

    Example:
        >>> from medldr.transforms.medmnist import Config
        >>> build_pipeline(Config(size=224), ImageShape(3, (28, 28))).output
        ImageShape(channels=3, spatial_size=(224, 224))
    """
    if floating:
        _check_takes_float(config.name)
    pipeline = Pipeline(
        build_pixel_rule(config, shape, views),
        _chain(config.train, "transform.train", views, random_allowed=True),
        _chain(config.eval, "transform.eval", views, random_allowed=False),
        shape,
    )
    if config.views is not None:
        pipeline.take_views(_build_views(config.views, shape, views, floating=floating))
    return pipeline


def _chain(entries: Sequence[Entry], key: str, views: int, *, random_allowed: bool) -> Chain | None:
    chain = build_chain(entries, key, random_allowed=random_allowed)
    return chain if chain is None or views == 1 else ChainOfEachView(chain, views)


def _build_views(
    config: PluginSection, shape: ImageShape, views: int, *, floating: bool
) -> SampleMaker:
    if not isinstance(config, TransformConfig):
        raise InputError(f"transform.views: the Config of {config.name} is not a TransformConfig")
    try:
        if floating:
            _check_takes_float(config.name)
        rule = build_pixel_rule(config, shape, views)
    except InputError as error:
        raise InputError(f"transform.views: {error}") from error
    chain = _chain(config.train, "transform.views.train", views, random_allowed=True)
    return SampleMaker(rule, chain)


def recorded_pipeline(record: Preprocessing) -> Pipeline:
    """The pipeline of a trained network.

    Raises:
        InputError: If this version knows no such preset, or not with these keys, or if it makes
            other images than the network was built for; names the key and the cure.
    """
    module = plugins.load("transforms", str(record.transform.get("name", "none")))
    try:
        config: TransformConfig = module.Config.model_validate(record.transform)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(["transform", *map(str, first["loc"])])
        raise InputError(
            f"preprocessing.json: {key}: {first['msg']}. Use the version of medldr that wrote the "
            "file"
        ) from error
    shape = ImageShape(record.stored.channels, record.stored.spatial_size)
    floating = record.stored.dtype == "float32"
    pipeline = build_pipeline(config, shape, floating=floating, views=record.stored.views)
    wanted = ImageShape(record.input.channels, record.input.spatial_size)
    if pipeline.output != wanted:
        raise InputError(
            f"preprocessing.json: transform makes images of {pipeline.output}, but input says "
            f"{wanted}. Write the file again with `medldr evaluate` on the run"
        )
    return pipeline


def _check_takes_float(preset: str) -> None:
    # A preset has to say that it takes them: pixels from 0 to 1 that are divided by 255 once more
    # would train, and silently on black images.
    if not getattr(plugins.load("transforms", preset), "TAKES_FLOAT", False):
        raise InputError(
            f"transform.name: {preset} takes pictures of 8 bits (0 to 255), and the pixels of this "
            "data set are decimal numbers from 0 to 1. Choose transform: scan, or use pictures "
            "that are all of 8 bits (with data.window: auto and no data.spacing)."
        )
