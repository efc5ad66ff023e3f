"""Paths: names with dots, brackets and backslashes of their own are written with a backslash."""

import pytest

from penstock.model.event_paths import steps_of


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("user.id", ["user", "id"]),
        ("items[].id", ["items", None, "id"]),
        ("grid[][]", ["grid", None, None]),
        (r"attrs.http\.status", ["attrs", "http.status"]),
        (r"tags\[]", ["tags[]"]),
        (r"tags\[][]", ["tags[]", None]),
        (r"back\\.x", ["back\\", "x"]),
        (r"plain\back", ["plain\\back"]),
        ("a..b", ["a", "", "b"]),
        ("a.", ["a", ""]),
        ("end\\", ["end\\"]),
    ],
)
def test_a_path_has_steps(path: str, steps: list[str | None]) -> None:
    assert list(steps_of(path)) == steps
