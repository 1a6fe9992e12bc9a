"""A network as one ONNX file, and ONNX Runtime that runs it.

The file holds `preprocessing.json` once more, as its metadata ``preprocessing``, so that the
network never stands without what it must be told.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from medldr import offline
from medldr.errors import InputError, MissingExtraError
from medldr.exporting.agreement import Answers, Runner
from medldr.exporting.exportable import INPUT, OUTPUTS, Exportable
from medldr.exporting.torch_program import trace
from medldr.folders.files import storage_errors
from medldr.folders.preprocessing_record import Preprocessing

OPSET: Final = 18
"""The first version of ONNX's operators that resizes with antialias, and widely supported."""

LARGEST: Final = 2 * 1024**3 - 64 * 1024**2
"""Bytes of weights in one file; its format ends at 2 GiB, and the graph needs some of it."""

METADATA: Final = "preprocessing"


def require_onnx(purpose: str = "an export to ONNX") -> None:
    """Check that the packages are there, and keep ONNX Runtime from reporting that it is used.

    Args:
        purpose: What needs them.

    Raises:
        MissingExtraError: Naming the first that is not.
    """
    for package in ("onnx", "onnxscript", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "onnx", purpose)
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported


def write_onnx(module: Exportable, record: Preprocessing, path: Path) -> Runner:
    """Write the network with its weights: input ``image``, outputs ``logits``, ``probabilities``.

    Args:
        module: What is exported.
        record: What the network must be told.
        path: `model.onnx`. Above 2 GB the weights are beside it, in `model.onnx.data`.

    Returns:
        What runs the file.

    Raises:
        InputError: If a package is missing, or ONNX lacks an operator (names the layer and a
            remedy).
        StorageError: If it cannot be written.
    """
    require_onnx()
    program = _converted(module, record)
    path.parent.mkdir(parents=True, exist_ok=True)
    large = sum(t.nbytes for t in module.state_dict().values()) > LARGEST
    with storage_errors(path):
        program.save(path, external_data=large)
    return _runner(path)


def _converted(module: Exportable, record: Preprocessing) -> Any:
    """The network in ONNX's operators, in memory."""
    traced = trace(module, record.stored)
    try:
        with torch.no_grad():
            program: Any = torch.onnx.export(
                traced,
                dynamo=True,
                input_names=[INPUT],
                output_names=list(OUTPUTS),
                opset_version=OPSET,
                verbose=False,
            )
    except torch.onnx.errors.OnnxExporterError as error:
        raise InputError(_why(error, traced)) from error
    for node in program.model.graph.all_nodes():
        node.metadata_props.clear()  # lines of code, with folders of this machine
    content = record.model_dump(mode="json", by_alias=True)
    program.model.metadata_props[METADATA] = json.dumps(content, ensure_ascii=False)
    return program


def _why(error: BaseException, traced: torch.export.ExportedProgram) -> str:
    """What ONNX lacks, and in which layer."""
    named = re.search(r"aten\.(\w+)", str(error))
    operator = named[1].strip("_") if named else "an operator that ONNX lacks"
    nodes = (node for node in traced.graph.nodes if operator in str(node.target).split("."))
    layer = next(map(_layer, nodes), "")
    return (
        f"this network cannot become an ONNX file: layer {layer!r} uses {operator}. Export with "
        "--format=torch, which has every operator"
    )


def _layer(node: Any) -> str:
    """The innermost module that a node comes from, by its name in the network."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]).removeprefix("model.") if stack else ""


def open_session(path: Path) -> Any:
    """ONNX Runtime with a file, on the processor; `require_onnx` comes before."""
    onnxruntime = offline.load("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _runner(path: Path) -> Runner:
    session = open_session(path)

    def run(image: Tensor) -> Answers:
        logits, probabilities = session.run(list(OUTPUTS), {INPUT: image.numpy()})
        return torch.from_numpy(logits), torch.from_numpy(probabilities)

    return run
