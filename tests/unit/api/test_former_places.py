"""What plug-ins of version 0.1.0 import is still where they look for it."""

from pathlib import Path

import pyarrow as pa
import pytest

from penstock.api.converter import BatchConverter, ConvertedBatch, RecordConverter
from penstock.api.doors import CONVERTERS
from penstock.api.find import make, offer
from penstock.datapath.shape.convert.plugins import converted
from penstock.model import converter as former
from tests.helpers.installed_packages import install_package

MODULE = """
from penstock.model.converter import BatchConverter, ConvertedBatch, RecordConverter

class Same(BatchConverter):
    def output_schema(self, schema):
        return schema
    def convert_batch(self, batch):
        return ConvertedBatch(batch, range(batch.num_rows))
"""


def test_a_converter_of_an_older_version_is_found_and_converts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: an upgrade breaks no converter. Method: one that imports what the docs of 0.1.0 say."""
    monkeypatch.syspath_prepend(tmp_path)
    entries = {"penstock.converters": {"same": "acme_former:Same"}}
    install_package(tmp_path, "acme-former", entries, {"acme_former": MODULE})
    batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    found = converted(make(CONVERTERS, offer(CONVERTERS, "same")), batch)
    assert (found.batch, list(found.rows)) == (batch, [0, 1])


def test_both_places_have_the_same_things() -> None:
    assert former.ConvertedBatch is ConvertedBatch
    assert former.RecordConverter is RecordConverter
    assert former.BatchConverter is BatchConverter
    assert CONVERTERS.group == former.GROUP
