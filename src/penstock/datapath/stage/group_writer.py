"""The files of one file group: rows of all its ranges wait together, and go to common files."""

from collections.abc import Mapping

from penstock.datapath.stage.file_parts import GroupParts
from penstock.datapath.stage.open_files import OpenFiles
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.split_rows import Splitter
from penstock.model.file_groups import FileGroup
from penstock.model.manifest import ManifestFile
from penstock.model.spec import DatasetSpec


class GroupFiles:
    """What a task writes for one file group. Used by one thread of one attempt.

    `splitter` takes the rows of data files, and `files` those of the quarantine at once.
    """

    def __init__(
        self,
        plan: ShredPlan,
        group: FileGroup,
        files: OpenFiles,
        declared: Mapping[str, DatasetSpec],
    ) -> None:
        self.parts = GroupParts(group)
        self.files = files
        self.splitter = Splitter(plan, group.topic, files, declared)

    def settle(self) -> None:
        """Hand everything to the files: there may be other groups to come."""
        self.splitter.split()

    def finish(self) -> tuple[ManifestFile, ...]:
        """Close the files of the group."""
        self.splitter.split_last()
        return tuple(self.files.finish_group(self.parts.number))
