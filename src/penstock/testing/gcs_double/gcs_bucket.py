"""One bucket in memory: live and former versions, one lock per name, every write conditional."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock

from penstock.testing.gcs_double.gcs_answers import GcsRefusal, Json, absent
from penstock.testing.gcs_double.gcs_conditions import Conditions
from penstock.testing.gcs_double.gcs_versions import (
    Generations,
    Version,
    check_name,
    new_version,
    token,
)

MOST_SOURCES = 32


@dataclass
class Moods:
    """What the double does on demand, beside what requests ask for."""

    rewrite_bytes: int | None = None  # so much in one call of a rewrite; None: all
    persist_bytes: int | None = None  # so much of one request of an upload; None: all
    update_interval_s: float = 0.0  # writes of one name that come sooner are answered with 429
    ignores_conditions: bool = False  # on rewrite, compose and delete, as some emulators do


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """A rewrite that takes several calls."""

    source: str
    target: str
    done_bytes: int


@dataclass
class GcsBucket:
    """The objects of one bucket. Thread-safe."""

    name: str
    generations: Generations
    moods: Moods
    facts: Json = field(default_factory=dict)
    live: dict[str, Version] = field(default_factory=dict)
    former: list[tuple[Version, bool]] = field(default_factory=list)  # and whether soft deleted
    _guard: Lock = field(default_factory=Lock)
    _locks: dict[str, Lock] = field(default_factory=dict)
    _written: dict[str, float] = field(default_factory=dict)
    _rewrites: dict[str, _Rewrite] = field(default_factory=dict)

    def get(self, name: str, generation: int | None = None) -> Version:
        """A version: the live one, or the one with a generation."""
        found = self.live.get(name)
        if generation is not None and (found is None or found.generation != generation):
            found = next(
                (
                    each
                    for each, is_soft in self.former
                    if each.name == name and each.generation == generation and not is_soft
                ),
                None,
            )
        if found is None:
            raise absent(self.name, name)
        return found

    def insert(self, name: str, data: bytes, resource: Json, conditions: Conditions) -> Version:
        """Put a new version, if the conditions hold for what is there."""
        check_name(name)
        with self._alone(name):
            conditions.check(self.live.get(name))
            self._count_write(name)
            return self._put(new_version(self.name, name, self.generations.next(), data, resource))

    def delete(self, name: str, generation: int | None, conditions: Conditions) -> None:
        """Remove the live version, which stays as a former one where the bucket keeps such."""
        with self._alone(name):
            found = self.get(name, generation)
            self._obey(conditions, found)
            self._refuse_if_retained(found)
            if self.live.get(name) is found:
                self._count_write(name)
                del self.live[name]
                self._keep(found, is_named=generation is not None)
            else:
                with self._guard:
                    self.former = [each for each in self.former if each[0] is not found]

    def patch(self, name: str, resource: Json, conditions: Conditions) -> Version:
        """Change what a resource says; the generation stays, the metageneration grows."""
        with self._alone(name):
            found = self.get(name)
            conditions.check(found)
            self._count_write(name)
            changed = _patched(found, resource)
            self.live[name] = changed
            return changed

    def compose(
        self, name: str, parts: list[tuple[str, int | None]], resource: Json, conditions: Conditions
    ) -> Version:
        """Put what is in several objects, one after another, into one; each with a condition."""
        check_name(name)
        if not 1 <= len(parts) <= MOST_SOURCES:
            why = f"The number of source components provided must be from 1 to {MOST_SOURCES}"
            raise GcsRefusal(400, "invalid", why)
        with self._alone(name, *(each for each, _ in parts)):
            found = [self.get(each) for each, _ in parts]
            for version, (_, wanted) in zip(found, parts, strict=True):
                self._obey(Conditions(generation=wanted), version)
            self._obey(conditions, self.live.get(name))
            self._count_write(name)
            data = b"".join(each.data for each in found)
            made = new_version(self.name, name, self.generations.next(), data, resource)
            return self._put(replace(made, components=sum(each.components or 1 for each in found)))

    def rewrite(
        self, source: str, target: str, query: Mapping[str, str], resource: Json, base: str
    ) -> Json:
        """Copy in one call or several; every call looks at both objects again.

        The resource of the new object is below `resource` once it is there.
        """
        check_name(target)
        with self._alone(source, target):
            wanted = query.get("sourceGeneration")
            found = self.get(source, None if wanted is None else int(wanted))
            self._obey(Conditions.of(query, "Source"), found)
            self._obey(Conditions.of(query), self.live.get(target))
            done_bytes = self._progress(source, target, query.get("rewriteToken"), found)
            answer: Json = {
                "kind": "storage#rewriteResponse",
                "objectSize": str(len(found.data)),
                "totalBytesRewritten": str(done_bytes),
                "done": done_bytes == len(found.data),
            }
            if done_bytes < len(found.data):
                word = token()
                self._rewrites[word] = _Rewrite(source, target, done_bytes)
                return answer | {"rewriteToken": word}
            self._count_write(target)
            made = replace(found, name=target, generation=self.generations.next(), metageneration=1)
            return answer | {"resource": self._put(_overridden(made, resource)).resource(base)}

    def _progress(self, source: str, target: str, word: str | None, found: Version) -> int:
        """How many bytes are done after this call."""
        begun = 0
        if word is not None:
            rewrite = self._rewrites.pop(word, None)
            if rewrite is None or (rewrite.source, rewrite.target) != (source, target):
                raise GcsRefusal(400, "invalid", "The rewrite token is not valid.")
            begun = rewrite.done_bytes
        most = self.moods.rewrite_bytes
        return min(len(found.data), len(found.data) if most is None else begun + most)

    def _obey(self, conditions: Conditions, found: Version | None) -> None:
        if not self.moods.ignores_conditions:
            conditions.check(found)

    def _put(self, version: Version) -> Version:
        before = self.live.get(version.name)
        self.live[version.name] = version
        if before is not None:
            self._keep(before, is_named=False)
        return version

    def _keep(self, version: Version, *, is_named: bool) -> None:
        """What becomes of a version that is live no more."""
        versioning = self.facts.get("versioning")
        soft = self.facts.get("softDeletePolicy")
        with self._guard:
            if isinstance(versioning, dict) and versioning.get("enabled") and not is_named:
                self.former.append((version, False))
            elif isinstance(soft, dict) and int(soft.get("retentionDurationSeconds", 0)):
                self.former.append((version, True))

    def _refuse_if_retained(self, found: Version) -> None:
        policy = self.facts.get("retentionPolicy")
        if isinstance(policy, dict):
            until = found.generation / 1e6 + float(policy["retentionPeriod"])
            if time.time() < until:
                why = (
                    f"Object '{self.name}/{found.name}' is subject to bucket's retention policy "
                    "and cannot be deleted or overwritten"
                )
                raise GcsRefusal(403, "retentionPolicyNotMet", why)

    def _count_write(self, name: str) -> None:
        """Refuse a write of a name that comes too soon after the last one."""
        now = time.monotonic()
        if now - self._written.get(name, -math.inf) < self.moods.update_interval_s:
            why = (
                f"The object {self.name}/{name} exceeded the rate limit for object mutation "
                "operations (create, update, and delete)."
            )
            raise GcsRefusal(429, "rateLimitExceeded", why)
        self._written[name] = now

    @contextmanager
    def _alone(self, *names: str) -> Iterator[None]:
        """Hold the locks of these names, always in the same order."""
        with self._guard:
            locks = [self._locks.setdefault(name, Lock()) for name in sorted(set(names))]
        with ExitStack() as held:
            for lock in locks:
                held.enter_context(lock)
            yield


def _patched(found: Version, resource: Json) -> Version:
    """A value of None takes a key away."""
    changes = resource.get("metadata")
    merged: dict[str, str | None] = dict(found.metadata or {})
    if isinstance(changes, dict):
        merged |= changes
    kept = {key: value for key, value in merged.items() if value is not None}
    return replace(found, metadata=kept, metageneration=found.metageneration + 1)


def _overridden(made: Version, resource: Json) -> Version:
    """A copy takes the metadata of its source, unless the request brings its own."""
    metadata = resource.get("metadata")
    if isinstance(metadata, dict):
        made = replace(made, metadata=metadata)
    if isinstance(resource.get("contentType"), str):
        made = replace(made, content_type=str(resource["contentType"]))
    return made
