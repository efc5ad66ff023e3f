# ruff: noqa: S101  -- these are tests; they assert
"""The contract of every codec, as test classes to inherit from.

    class TestMyCodec(JsonContract):                 # or SchemasContract, or both in two classes
        @pytest.fixture
        def codec(self) -> Codec:
            return CODEC

        @pytest.fixture
        def payloads(self) -> list[bytes]:
            return [b"...", b"..."]                  # several records that can be read

`JsonContract` is for `Codec.json`, and `SchemasContract` for `Codec.schemas`. For the latter,
`decode` are the keys of a configuration, and `schema` is what records were written with, where the
configuration does not say it. Each test reads the given payloads, broken copies of them, and bytes
that are broken in any format.
"""

from collections.abc import Iterator, Sequence
from random import Random

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from penstock.api.codec import BadRecord, Codec, DecodedBatch, RecordReader, RecordSchemas
from penstock.model.arrow_types import arrow_type
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec

OPTIONS = frozenset(
    {"schema", "message", "protocol", "ids", "spread", "pattern", "delimiter", "columns"}
)
MOST_BYTES = 16 << 20  # of a payload that is converted to JSON
LONGEST_DETAIL = 1_000
FIRST_MESSAGE = (0,)  # of a schema that has one, or whose first one is meant
SEED = 20_261_115
DEEP = 100_000
Fate = tuple[str, object]  # `bad` and its reason, or `good` and what was read


def binary(payloads: Sequence[bytes]) -> pa.Array:
    """Payloads as codecs get them."""
    return pa.array(payloads, pa.binary())


def broken_payloads(payloads: Sequence[bytes]) -> list[bytes]:
    """Bytes that somebody may send: damaged copies, the shapes of attacks, and noise."""
    random = Random(SEED)  # noqa: S311  -- the same bytes in each run
    found = [b"", b"\x00", b"\xff" * 40, b"[" * DEEP, b'{"a":' * DEEP, b"\x91" * DEEP, b"\x0a" * 99]
    for payload in payloads:
        cuts = sorted({1, len(payload) // 2, len(payload) - 1} & set(range(len(payload))))
        found += [payload[:cut] for cut in cuts]
        found += [payload + b"\x00", payload + payload, b"\xff" + payload]
        for _ in range(20):
            damaged = bytearray(payload or b"x")
            damaged[random.randrange(len(damaged))] = random.randrange(256)
            found.append(bytes(damaged))
    return found + [random.randbytes(random.randrange(1, 60)) for _ in range(100)]


def check_bad(bad: Sequence[BadRecord]) -> None:
    """A reason is a code, and the detail is one short text."""
    for each in bad:
        assert each.reason
        assert each.reason == each.reason.upper()
        assert len(each.detail) <= LONGEST_DETAIL


class ReadingContract:
    """What holds for both ways of reading. `fates` says what became of each record."""

    @pytest.fixture
    def codec(self) -> Codec:
        """What is tested."""
        raise NotImplementedError("give the contract a codec")

    @pytest.fixture
    def decode(self, codec: Codec) -> DecodeSpec:
        """The keys of a configuration with which the payloads can be read."""
        return DecodeSpec(codec.name)

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        """Several records that can be read."""
        raise NotImplementedError("give the contract several records")

    @pytest.fixture
    def schema(self, codec: Codec, decode: DecodeSpec) -> RegisteredSchema | None:
        """What the payloads were written with; by default what the configuration says."""
        return None if codec.schemas is None else codec.schemas.fixed(decode)

    def fates(
        self, codec: Codec, schema: RegisteredSchema | None, payloads: pa.Array
    ) -> list[Fate]:
        """What became of each record."""
        raise NotImplementedError

    def test_its_traits_are_those_of_a_codec(self, codec: Codec, decode: DecodeSpec) -> None:
        assert codec.name
        assert codec.json is not None or codec.schemas is not None
        assert codec.options <= OPTIONS
        assert all(suffix.startswith(".") for suffix in codec.schema_files)
        assert "schema" in codec.options or not codec.schema_files
        assert list(codec.check(decode)) == [], "give the contract keys that fit each other"

    def test_the_payloads_are_read(
        self, codec: Codec, schema: RegisteredSchema | None, payloads: list[bytes]
    ) -> None:
        assert len(payloads) > 1, "give the contract several records"
        found = self.fates(codec, schema, binary(payloads))
        assert [kind for kind, _ in found] == ["good"] * len(payloads), found

    def test_no_records_stay_none(self, codec: Codec, schema: RegisteredSchema | None) -> None:
        assert self.fates(codec, schema, binary([])) == []

    def test_a_broken_record_is_bad_alone(
        self, codec: Codec, schema: RegisteredSchema | None, payloads: list[bytes]
    ) -> None:
        """Goal: nothing raises, and no neighbour notices. Method: broken ones between good ones."""
        broken = broken_payloads(payloads)
        mixed = [each for one in broken for each in (one, payloads[len(one) % len(payloads)])]
        found = self.fates(codec, schema, binary(mixed))
        good = self.fates(codec, schema, binary(payloads))
        assert found[1::2] == [good[len(one) % len(payloads)] for one in broken]
        alone = [self.fates(codec, schema, binary([one]))[0] for one in broken]
        assert found[0::2] == alone

    def test_it_answers_alike_however_records_are_put_into_batches(
        self, codec: Codec, schema: RegisteredSchema | None, payloads: list[bytes]
    ) -> None:
        """Goal: a task that is tried again writes the same rows. Method: cuts of one array."""
        some = [*payloads, b"", *broken_payloads(payloads)[-9:], *payloads]
        whole = self.fates(codec, schema, binary(some))
        for cut in range(len(some) + 1):
            array = binary(some)
            first = self.fates(codec, schema, array.slice(0, cut))
            assert first + self.fates(codec, schema, array.slice(cut)) == whole


class JsonContract(ReadingContract):
    """For a codec that turns payloads into JSON objects."""

    def fates(
        self,
        codec: Codec,
        schema: RegisteredSchema | None,  # noqa: ARG002  -- there is none
        payloads: pa.Array,
    ) -> list[Fate]:
        """The JSON of each record, as a value; every text is JSON."""
        assert codec.json is not None
        assert codec.json.convert is not None, "JSON itself needs no contract"
        found = codec.json.convert(payloads)
        check_bad(found.bad)
        texts = found.texts.to_pylist()
        assert len(texts) == len(payloads)
        reasons = {each.index: each.reason for each in found.bad}
        assert len(reasons) == len(found.bad), "each record is bad once"
        assert reasons.keys() <= set(range(len(texts)))
        fates: list[Fate] = []
        for row, text in enumerate(texts):
            if row in reasons:
                assert not text, "a bad record has no JSON"
                fates.append(("bad", reasons[row]))
                continue
            assert len(text) <= codec.json.growth * len(payloads[row].as_py())
            fates.append(("good", msgspec.json.decode(text)))
        return fates

    def test_the_payloads_become_objects(
        self, codec: Codec, schema: RegisteredSchema | None, payloads: list[bytes]
    ) -> None:
        found = [value for _, value in self.fates(codec, schema, binary(payloads))]
        assert all(isinstance(value, dict) for value in found), found

    def test_too_long_a_payload_is_bad(
        self, codec: Codec, schema: RegisteredSchema | None, payloads: list[bytes]
    ) -> None:
        long = payloads[0] * (MOST_BYTES // len(payloads[0]) + 1)
        first, second = self.fates(codec, schema, binary([long, payloads[0]]))
        assert (first[0], second[0]) == ("bad", "good")


class SchemasContract(ReadingContract):
    """For a codec that reads records by the schemas they were written with."""

    @pytest.fixture
    def reader(self, codec: Codec, schema: RegisteredSchema | None) -> RecordReader:
        """A reader of the payloads."""
        return self.made(codec, schema)

    def made(self, codec: Codec, schema: RegisteredSchema | None) -> RecordReader:
        """A new reader each time."""
        assert schema is not None, "give the contract the schema of the payloads"
        return self.schemas(codec).reader(schema, FIRST_MESSAGE)

    def schemas(self, codec: Codec) -> RecordSchemas:
        """The way of reading that is tested."""
        assert codec.schemas is not None
        return codec.schemas

    def fates(
        self, codec: Codec, schema: RegisteredSchema | None, payloads: pa.Array
    ) -> list[Fate]:
        """The row of each record, with what has no column."""
        return self.read(self.made(codec, schema), payloads)

    def read(self, reader: RecordReader, payloads: pa.Array, skipped: int = 0) -> list[Fate]:
        """Cut payloads as a task does, and read each piece; each record has one fate."""
        found: list[Fate] = []
        for piece in reader.row_ranges(payloads):
            assert piece.start == len(found), "ranges follow each other"
            assert len(piece) == 1 or not piece.is_heavy
            some = payloads.slice(piece.start, len(piece))
            found += self._fates(reader, reader.read(some, skipped), len(some))
        assert len(found) == len(payloads), "ranges cover all records"
        return found

    def _fates(self, reader: RecordReader, read: DecodedBatch, count: int) -> Iterator[Fate]:
        check_bad(read.bad)
        good = np.asarray(read.good).tolist()
        reasons = {each.index: each.reason for each in read.bad}
        assert sorted([*good, *(each.index for each in read.bad)]) == list(range(count))
        assert good == sorted(good), "rows keep the order of records"
        assert read.batch.num_rows == len(good)
        wanted = [(each.column, arrow_type(each.type)) for each in reader.fields]
        assert [(each.name, each.type) for each in read.batch.schema] == wanted
        read.batch.validate(full=True)
        rest = [None] * len(good) if read.rest is None else read.rest.to_pylist()
        assert len(rest) == len(good)
        rows = dict(zip(good, zip(map(repr, read.batch.to_pylist()), rest, strict=True),
                        strict=True))  # fmt: skip
        for row in range(count):
            yield ("bad", reasons[row]) if row in reasons else ("good", rows[row])

    def test_its_columns_have_names_of_their_own(self, reader: RecordReader) -> None:
        columns = [each.column for each in reader.fields]
        assert columns
        assert all(columns)
        assert len({column.casefold() for column in columns}) == len(columns)

    def test_a_reader_made_again_is_the_same(
        self, codec: Codec, schema: RegisteredSchema | None, reader: RecordReader
    ) -> None:
        again = self.made(codec, schema)
        assert (again.name, again.fields) == (reader.name, reader.fields)

    def test_the_schema_of_a_configuration_is_of_its_own_type(
        self, codec: Codec, decode: DecodeSpec
    ) -> None:
        fixed = self.schemas(codec).fixed(decode)
        assert fixed == self.schemas(codec).fixed(decode)
        assert fixed is None or fixed.type == codec.name

    def test_the_bytes_of_a_frame_are_passed_over(
        self, codec: Codec, decode: DecodeSpec, reader: RecordReader, payloads: list[bytes]
    ) -> None:
        """Where each record names its schema, some bytes in front of it are the frame's."""
        if self.schemas(codec).fixed(decode) is None:
            framed = [b"\x00\x01\x02\x03\x04" + payload for payload in payloads]
            assert self.read(reader, binary(framed), 5) == self.read(reader, binary(payloads))

    def test_each_record_has_one_frame_or_none(self, codec: Codec, payloads: list[bytes]) -> None:
        """Where the codec finds frames itself: whatever payloads and headers hold."""
        frames = self.schemas(codec).frames
        if frames is None:
            return
        some = [*payloads, *broken_payloads(payloads)]
        headers = ["[]", "[{}]", '[{"key":"a","value":"!"}]', None]
        texts = pa.array([headers[row % 4] for row in range(len(some))], pa.string())
        found = frames(binary(some), texts)
        check_bad(found.bad)
        members = [row for _, rows in found.groups for row in np.asarray(rows).tolist()]
        assert sorted([*members, *(each.index for each in found.bad)]) == list(range(len(some)))
        for frame, rows in found.groups:
            assert frame.key
            assert all(frame.skipped <= len(some[row]) for row in np.asarray(rows).tolist())
