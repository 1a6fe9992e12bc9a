"""A network as a program of torch alone (`model.pt2`)."""

from __future__ import annotations

import io
from pathlib import Path

import torch
from torch import Tensor

from medldr.errors import InputError
from medldr.exporting.agreement import Answers, Runner
from medldr.exporting.exportable import INPUT, Exportable, FreeBatch
from medldr.folders.files import atomic
from medldr.folders.preprocessing_record import Stored


def trace(module: Exportable, stored: Stored) -> torch.export.ExportedProgram:
    """The module as a graph, for any number of images of the stored shape.

    Where each line of code stood is taken out: it would name folders of this machine.

    Raises:
        InputError: If torch cannot follow the network.
    """
    example = torch.zeros(2, stored.channels, *stored.spatial_size)
    batch = torch.export.Dim("batch", min=1)
    try:
        with torch.no_grad(), FreeBatch():
            program = torch.export.export(module, (example,), dynamic_shapes={INPUT: {0: batch}})
    except Exception as error:  # torch raises of every kind; the network is what it failed on
        raise InputError(
            f"torch.export cannot follow this network ({type(error).__name__}: "
            f"{str(error).strip().partition(chr(10))[0]}). Its code must not choose its way by the "
            "values of the image or their number"
        ) from error
    for graph in program.graph_module.modules():
        for node in getattr(getattr(graph, "graph", None), "nodes", ()):
            node.meta.pop("stack_trace", None)
    return program


def write_torch(module: Exportable, stored: Stored, path: Path) -> Runner:
    """Write the program for `torch.export.load`.

    Args:
        module: What is exported.
        stored: What a stored image is.
        path: `model.pt2`.

    Returns:
        The program, read back from the file.

    Raises:
        InputError: If torch cannot follow the network.
        StorageError: If it cannot be written.
    """
    program = trace(module, stored)
    content = io.BytesIO()  # torch ends the process where a disk is full
    torch.export.save(program, content)
    with atomic(path, needed=content.getbuffer().nbytes) as temporary:
        temporary.write_bytes(content.getbuffer())
    # As a bundle runs it: a module with eval mode, which the program's own lacks.
    loaded = torch.export.unflatten(torch.export.load(path))

    def run(image: Tensor) -> Answers:
        with torch.no_grad():
            logits, probabilities = loaded(image)
        return logits, probabilities

    return run
