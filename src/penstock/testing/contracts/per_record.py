# ruff: noqa: S101  -- these are tests; they assert
"""What routes, partition values and fork functions have in common: an answer for each record.

    class TestMyRoute(RouteContract):
        @pytest.fixture
        def make(self) -> Callable[[], Route]:
            return lambda: MyRoute(depth=2)

        @pytest.fixture
        def records(self) -> Records:
            return sample_records([b"a", None], fields={"user.id": [7, None]})

`make` makes a new one each time, and `records` are some that it answers, with every field that it
asks for. What it raises for broken records is tested by its own author: those are bad, alone.
"""

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import ClassVar, Protocol

import pytest

from penstock.api.fork_function import ForkFunction
from penstock.api.partition_value import PartitionValue
from penstock.api.records import Records
from penstock.api.route import Route
from penstock.datapath.shape.plugins.ask import Question, ask, text_or_none


class Asked(Protocol):
    """The member that all of them have."""

    @property
    def fields(self) -> Sequence[str]:
        """The paths of the fields that it looks at."""
        ...


def _plain(answer: object) -> object:
    """An answer that can be compared."""
    is_list = isinstance(answer, Iterable) and not isinstance(answer, str | bytes)
    return sorted(set(answer)) if is_list else answer  # type: ignore[call-overload]


class PerRecordContract:
    """An answer for each record, whatever batch it comes in."""

    method: ClassVar[str]

    def answers(self, made: Asked, records: Records) -> list[object]:
        """What it says, as a list; fails where Penstock would refuse it."""
        call: Callable[[Records], object] = getattr(made, self.method)
        found = ask(Question("contract", "FAILED", call, _plain), records)
        assert found.bad == []
        return list(found.values)

    def test_its_fields_are_paths_that_the_records_have(
        self, make: Callable[[], Asked], records: Records
    ) -> None:
        fields = make().fields
        assert not isinstance(fields, str)
        assert all(path and all(path.split(".")) for path in fields)
        assert set(fields) <= set(records.fields)

    def test_it_answers_for_every_record(self, make: Callable[[], Asked], records: Records) -> None:
        assert len(records) > 1, "give the contract several records"
        assert len(self.answers(make(), records)) == len(records)

    def test_no_records_have_no_answers(self, make: Callable[[], Asked], records: Records) -> None:
        call = getattr(make(), self.method)
        assert len(list(call(records.part(0, 0)))) == 0

    def test_it_answers_alike_however_records_are_put_into_batches(
        self, make: Callable[[], Asked], records: Records
    ) -> None:
        """Goal: a task that is tried again writes the same rows. Method: every cut in two."""
        whole = self.answers(make(), records)
        made = make()
        for cut in range(len(records) + 1):
            first = self.answers(made, records.part(0, cut))
            second = self.answers(made, records.part(cut, len(records)))
            assert first + second == whole

    def test_another_one_with_the_same_options_answers_alike(
        self, make: Callable[[], Asked], records: Records
    ) -> None:
        assert self.answers(make(), records) == self.answers(make(), records)

    def test_its_class_is_found_in_a_module(self, make: Callable[[], Asked]) -> None:
        """Goal: an executor can import it. Method: look for its class by name."""
        kind = type(make())
        assert getattr(import_module(kind.__module__), kind.__qualname__) is kind


class RouteContract(PerRecordContract):
    """What a route must keep."""

    method = "datasets"

    def test_it_names_datasets_with_texts(
        self, make: Callable[[], Route], records: Records
    ) -> None:
        found = ask(Question("contract", "FAILED", make().datasets, text_or_none), records)
        assert found.bad == []


class PartitionContract(PerRecordContract):
    """What a partition value must keep."""

    method = "texts"

    def test_it_names_directories_with_texts(
        self, make: Callable[[], PartitionValue], records: Records
    ) -> None:
        found = ask(Question("contract", "FAILED", make().texts, text_or_none), records)
        assert found.bad == []


class ForkContract(PerRecordContract):
    """What a fork function must keep. `targets` are the datasets that it may name."""

    method = "datasets"

    @pytest.fixture
    def targets(self) -> frozenset[str]:
        """The datasets of `to`."""
        raise NotImplementedError("give the contract the datasets that it may name")

    def test_it_names_datasets_of_its_own(
        self, make: Callable[[], ForkFunction], records: Records, targets: frozenset[str]
    ) -> None:
        found = [frozenset(each) for each in make().datasets(records)]
        assert frozenset().union(*found) <= targets
        assert any(found), "give the contract a record that goes to a further dataset"
