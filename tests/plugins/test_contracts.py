"""What the package `acme` has behind each door keeps the contract of that door."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.api.codec import Codec
from penstock.api.file_format import FileFormat
from penstock.api.price import Price
from penstock.api.records import Records
from penstock.api.reporter import Reporter
from penstock.api.store import Store
from penstock.model.plugin import PluginRef
from penstock.model.store_spec import StoreSpec
from penstock.serve.text_file import TextFile
from penstock.testing.contracts.codec import JsonContract
from penstock.testing.contracts.converter import ConverterContract
from penstock.testing.contracts.file_format import FileFormatContract
from penstock.testing.contracts.per_record import ForkContract, PartitionContract, RouteContract
from penstock.testing.contracts.price import PriceContract
from penstock.testing.contracts.reporter import EXAMPLE, ReporterContract
from penstock.testing.contracts.source import SourceContract
from penstock.testing.contracts.store import StoreContract
from penstock.testing.sample_records import sample_records
from tests.plugins.acme.acme_penstock.arrow_format import FORMAT
from tests.plugins.acme.acme_penstock.cents_converter import Cents
from tests.plugins.acme.acme_penstock.ledger_reporter import Ledger
from tests.plugins.acme.acme_penstock.pairs_codec import CODEC
from tests.plugins.acme.acme_penstock.places import Bucket, Tenant, Tiers
from tests.plugins.acme.acme_penstock.storage_tiers import StorageTiers
from tests.plugins.acme.acme_penstock.vault_store import open_vault
from tests.plugins.tapes import Tapes

OPENER = PluginRef("store", "vault", f"{open_vault.__module__}:open_vault", "acme-penstock")
VALUES = [b"a=1", b"b=2", b"c=3", b"d=4"]


class TestVault(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return open_vault(StoreSpec("vault", "main", OPENER, {"file": str(tmp_path / "lake.db")}))


class TestStorageTiers(PriceContract):
    @pytest.fixture
    def make(self) -> Callable[[], Price]:
        return lambda: StorageTiers(free_bytes=1_000_000, gb=0.02)


class TestLedger(ReporterContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Callable[[], Reporter]:
        return lambda: Ledger(str(tmp_path / "ledger.jsonl"))

    def test_every_report_is_a_line_with_all_samples(
        self, make: Callable[[], Reporter], tmp_path: Path
    ) -> None:
        make().report(EXAMPLE)
        make().report(EXAMPLE)
        lines = (tmp_path / "ledger.jsonl").read_text().splitlines()
        assert len(lines) == 2
        found = json.loads(lines[0])
        assert found["at_s"] == EXAMPLE.at_s
        assert found["penstock_records_read_total{feed=events}"] == 12


class TestTextFile(ReporterContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Callable[[], Reporter]:
        return lambda: TextFile(str(tmp_path / "penstock.prom"))


class TestTape(SourceContract):
    @pytest.fixture
    def world(self, tmp_path: Path) -> Tapes:
        return Tapes(tmp_path / "tapes")


class TestPairs(JsonContract):
    @pytest.fixture
    def codec(self) -> Codec:
        return CODEC

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        return [b"user=ann;amount=7", b"a=", b"t=\x01\x02;n=-0;u=\xc3\xb6", b'q="\\']


class TestArrow(FileFormatContract):
    @pytest.fixture
    def form(self) -> FileFormat:
        return FORMAT


class TestTenant(RouteContract):
    @pytest.fixture
    def make(self) -> Callable[[], Tenant]:
        return lambda: Tenant(":")

    @pytest.fixture
    def records(self) -> Records:
        return sample_records(VALUES, keys=[b"x:1", b"y", None, b""])


class TestBucket(PartitionContract):
    @pytest.fixture
    def make(self) -> Callable[[], Bucket]:
        return lambda: Bucket("user.id", 4)

    @pytest.fixture
    def records(self) -> Records:
        return sample_records(VALUES, fields={"user.id": ["ann", 7, None, True]})


class TestTiers(ForkContract):
    @pytest.fixture
    def make(self) -> Callable[[], Tiers]:
        return lambda: Tiers(100)

    @pytest.fixture
    def records(self) -> Records:
        return sample_records(VALUES, fields={"amount": [1, 100, None, "x"]})

    @pytest.fixture
    def targets(self) -> frozenset[str]:
        return frozenset({"gold"})


class TestCents(ConverterContract):
    @pytest.fixture
    def make(self) -> Callable[[], Cents]:
        return lambda: Cents("amount")

    @pytest.fixture
    def batch(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"amount": [1, 0, None, 5], "n": ["a", "b", "c", "d"]})
