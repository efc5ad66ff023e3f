"""What an owner knows and may do when it finishes entries; a command has none of it."""

from dataclasses import dataclass

from penstock.model.row_config import RowConfig
from penstock.protocol.publish.derive_again import Stage
from penstock.protocol.publish.group_work import PublishAll, from_here
from penstock.protocol.publish.troubles import Troubles


@dataclass(frozen=True, slots=True)
class Ownership:
    """What only an owner has: a name, what it knows of troubles, and, later, a way to read again.

    Without `stage`, files that were lost are put aside: recovery comes before the source is asked.
    `config` is the present configuration; without it, that of lost files is not compared.
    `publish_all` is how many files are published.
    """

    owner: str
    troubles: Troubles
    stage: Stage | None = None
    config: RowConfig | None = None
    publish_all: PublishAll = from_here
