"""What the benches write down: when, and in which shape."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import compare, formats, pictures, shapes
from bench.figures import ON_AVRO, ON_JSON, ON_WHOLE, OURS, READ_ONLY, Turn, variant

RESULTS = Path(__file__).parents[3] / "bench" / "results.json"
FIGURES = {"records_per_s", "records_per_cpu_s", "peak_rss_bytes", "files"}
Bench = Callable[..., dict[str, dict[str, object]]]


def some_turns() -> dict[str, list[Turn]]:
    """Three rounds of every way there is."""
    names = (OURS, READ_ONLY, ON_JSON, ON_WHOLE, variant(0), variant(100))
    return {name: [Turn(1_000, 1.0, 2.0, 7, 144, 99)] * 3 for name in names}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The benches with nothing to measure, and `tmp_path` as the directory of what is kept."""
    monkeypatch.setattr(pictures, "KEPT", tmp_path)
    monkeypatch.setattr(compare, "measure", lambda _: {12: some_turns(), 200: some_turns()})
    only = {name: some_turns() for name in ("json-12", "protobuf-12", "broken-12")}
    monkeypatch.setattr(formats, "measure", lambda _: only)
    shaped = {name: some_turns() for name in ("social", "framed-envelopes")}
    beside = [Turn(1_000, 1.0, 2.0, 7, 144, 99)] * 3
    shaped["protobuf-envelopes"] = some_turns() | {ON_AVRO: beside}
    monkeypatch.setattr(shapes, "measure", lambda _: shaped)

    def run(main: Callable[[], None], *words: str) -> dict[str, dict[str, object]]:
        monkeypatch.setattr("sys.argv", ["bench", "--out", str(tmp_path), *words])
        main()
        kept = tmp_path / "results.json"
        found: dict[str, dict[str, object]] = json.loads(kept.read_text()) if kept.exists() else {}
        return found

    return run


def test_every_mapping_in_a_workload_is_a_way(bench: Bench) -> None:
    bench(compare.main)
    bench(formats.main)
    found = bench(shapes.main)
    assert len(found) == 8
    for result in (*found.values(), *json.loads(RESULTS.read_text(encoding="utf-8")).values()):
        ways = [value for value in result.values() if isinstance(value, dict)]
        assert len(ways) in {2, 3}
        assert all(way.keys() >= FIGURES for way in ways)
        assert isinstance(result["machine"], list)


@pytest.mark.parametrize("main", [compare.main, formats.main, shapes.main])
@pytest.mark.parametrize("words", [("--rounds", "2"), ("--records", "200000")])
def test_a_quick_look_leaves_the_figures_of_whole_runs_alone(
    bench: Bench,
    main: Callable[[], None],
    words: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert bench(main, *words) == {}
    assert list(tmp_path.iterdir()) == []
    assert re.search(r"^not written: .*--out", capsys.readouterr().out, re.MULTILINE)
    (tmp_path / "other").mkdir()
    bench(main, *words, "--out", str(tmp_path / "other"))
    assert (tmp_path / "other" / "results.json").exists()


@pytest.mark.parametrize("main", [compare.main, formats.main, shapes.main])
@pytest.mark.parametrize("words", [("--rounds", "0"), ("--records", "4000")])
def test_too_little_to_measure_is_refused_before_anything_starts(
    bench: Bench, main: Callable[[], None], words: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as ended:
        bench(main, *words)
    assert ended.value.code == 2


def test_a_workload_of_real_shape_says_how_much_source_a_processor_second_takes(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    found = bench(shapes.main)["shape_social"]
    assert isinstance(found["source_bytes"], int)
    assert found["mb_per_cpu_s_penstock"] == found["mb_per_cpu_s_plain_spark"]
    said = capsys.readouterr().out
    assert re.search(
        r"social: times plain Spark by processor time +1.00 +target 1.80 +MISSED", said
    )
    assert re.search(r"social: times plain Spark by time +1.00 +target 1.00 +reached", said)
