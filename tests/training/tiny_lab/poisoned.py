"""An outside algorithm: ERM whose loss becomes NaN, or that raises a signal, at chosen steps."""

import signal
from typing import Literal

from medldr.algorithms.base import AlgorithmConfig
from medldr.algorithms.erm import ERM


class Config(AlgorithmConfig):
    name: Literal["tiny_lab.poisoned"] = "tiny_lab.poisoned"
    nan_at: int = -1
    nan_what: Literal["image", "weights"] = "image"
    signal_at: int = -1
    signum: int = 2


class Poisoned(ERM):
    calls = 0

    def loss(self, model, batch):
        call, Poisoned.calls = Poisoned.calls, Poisoned.calls + 1
        if call == self.config.signal_at:
            signal.raise_signal(self.config.signum)
        if call == self.config.nan_at and self.config.nan_what == "image":
            batch = batch._replace(image=batch.image * float("nan"))
        if call == self.config.nan_at and self.config.nan_what == "weights":
            model.head.bias.data[0] = float("nan")
            return super().loss(model, batch)._replace(loss=model.head.weight.sum())
        return super().loss(model, batch)


ALGORITHM = Poisoned
