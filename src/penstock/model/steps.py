"""Steps: what has to happen after an entry is decided, as frozen values inside the entry.

The steps are a closed set, and a step holds all its arguments: what is published is what was
decided, whatever the configuration says on the day of recovery. `protocol/publish/acts.py` has the
one dispatch from a step to the act that does it.
"""

from typing import TypeAlias

from penstock.model.value import Value


class StepValue(Value, frozen=True, tag_field="step"):
    """The base of every step. `step` is its name in entries."""


class PublishFiles(StepValue, frozen=True, tag="publish_files"):
    """Make the staged files of the group visible under their final names."""


class DeleteInputs(StepValue, frozen=True, tag="delete_inputs"):
    """Remove the files that the entry consumes from the group's dataset.

    Not before a time, in seconds since 1970, if readers may still use them; 0: at once.
    """

    not_before_s: float = 0.0


class MarkComplete(StepValue, frozen=True, tag="mark_complete"):
    """Leave `_SUCCESS` in the directories that the entry names, in their order."""


class MarkLate(StepValue, frozen=True, tag="mark_late"):
    """Leave `_LATE` in directories of the group's files whose day or hour is final already.

    Final is what lies before `days_before` and `hours_before`.
    """

    days_before: str = ""
    hours_before: str = ""


Step: TypeAlias = PublishFiles | DeleteInputs | MarkComplete | MarkLate
Steps: TypeAlias = tuple[Step, ...]

# The lists that are decided today. Inputs go only after everything that replaces them is there.
DELIVER: Steps = (PublishFiles(),)
REWRITE: Steps = (PublishFiles(), DeleteInputs())
REMOVE: Steps = (DeleteInputs(),)
FINALIZE: Steps = (MarkComplete(),)


def deliver_late(days_before: str, hours_before: str) -> Steps:
    """The steps of a group with rows of days or hours that are final: the mark comes first."""
    return (MarkLate(days_before, hours_before), *DELIVER)
