"""The path from stored pixels to a network's input, as its `preprocessing.json` says."""

from __future__ import annotations

from pydantic import ValidationError

from medldr import plugins
from medldr.errors import InputError
from medldr.folders.preprocessing_record import Preprocessing
from medldr.transforms._pipeline import Pipeline, build_pipeline
from medldr.transforms.base import ImageShape, TransformConfig


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
    pipeline = build_pipeline(config, shape, floating=record.stored.dtype == "float32")
    wanted = ImageShape(record.input.channels, record.input.spatial_size)
    if pipeline.output != wanted:
        raise InputError(
            f"preprocessing.json: transform makes images of {pipeline.output}, but input says "
            f"{wanted}. Write the file again with `medldr evaluate` on the run"
        )
    return pipeline
