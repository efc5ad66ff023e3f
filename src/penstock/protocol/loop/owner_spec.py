"""How the windows of a feed are run by its owner."""

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.model.feed_shape import FeedShape
from penstock.protocol.loop.file_planning import FilePolicy
from penstock.protocol.loop.topic_plan import WindowPolicies
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.protocol.publish.group_work import PublishAll, from_here
from penstock.protocol.publish.troubles import PublishPolicy


@dataclass(frozen=True, slots=True)
class OwnerSpec:
    """How a feed's windows are run. `owner` is the name of who runs them.

    Without a `shape`, directories are not compared with those that were written before. `poll_s`
    is how often an idle owner looks whether anything was decided; 0 is every turn. `topics` have
    window policies of their own. `gathering` says which ranges may share files, and `cores` how
    many tasks can run at once; None: nobody knows. `publish_all` is how many files are published
    when the source may be asked; recovery does without.
    """

    owner: str
    policy: WindowPolicy = field(default_factory=WindowPolicy)
    generation: int = 0
    files: str = field(kw_only=True)
    shape: FeedShape | None = None
    publish: PublishPolicy = field(default_factory=PublishPolicy)
    checkpoint_every: int = 100
    poll_s: float = 0.0
    topics: dict[str, WindowPolicy] = field(default_factory=dict)
    gathering: FilePolicy = field(default_factory=FilePolicy)
    cores: Callable[[], int | None] = lambda: None
    publish_all: PublishAll = from_here

    @property
    def policies(self) -> WindowPolicies:
        """How much one window may take, of the feed and of each topic."""
        return WindowPolicies(self.policy, self.topics)
