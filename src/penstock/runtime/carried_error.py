"""An error of ours on its way from a task to the driver: as data, and not as the text of a trace.

A task that raises is tried again by Spark, its traces are logged, and the driver gets a text. So a
task catches what it can explain itself, such as a full disk, and returns it as its answer. The
driver raises it again, with the same class, code and sentence.
"""

from importlib import import_module

import msgspec

from penstock.errors import PenstockError
from penstock.model.value import Value

MARK = b"\xc1"  # the one byte that MessagePack never begins with


class CarriedError(Value, frozen=True):
    """What makes an error: its class by name, its two sentences, and the facts it keeps."""

    module: str
    name: str
    found: str
    advice: str
    facts: dict[str, str | int | float | bool | None] = msgspec.field(default_factory=dict)

    def error(self) -> PenstockError:
        """The error as it was raised; its class is made without its constructor."""
        kind = getattr(import_module(self.module), self.name, None)
        if not isinstance(kind, type) or not issubclass(kind, PenstockError):
            raise TypeError(f"{self.module}.{self.name} is not an error of Penstock")
        error = kind.__new__(kind)
        PenstockError.__init__(error, self.found, self.advice)
        for name, value in self.facts.items():
            setattr(error, name, value)
        return error


_carried_error_decoder = msgspec.msgpack.Decoder(CarriedError)


def carried(error: PenstockError) -> CarriedError:
    """An error as a value. Facts that are neither text nor a number stay behind."""
    kind = type(error)
    facts = {
        name: value
        for name, value in vars(error).items()
        if name not in {"found", "advice"} and isinstance(value, str | int | float | bool | None)
    }
    return CarriedError(kind.__module__, kind.__qualname__, error.found, error.advice, facts)


def as_report(error: PenstockError) -> bytes:
    """An error in place of a task's report."""
    return MARK + msgspec.msgpack.encode(carried(error))


def opened_report(report: bytes) -> bytes:
    """A task's report as it is; raises the error that came in its place."""
    if report.startswith(MARK):
        raise _carried_error_decoder.decode(report[len(MARK) :]).error()
    return report
