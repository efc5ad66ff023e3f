"""What is behind a door is found by name; what cannot be used is told in one sentence."""

import pickle
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Protocol

import pytest

from penstock.api.doors import EVERY_DOOR
from penstock.api.errors import ExtraMissing, PluginAmbiguous, PluginBroken, PluginUnknown
from penstock.api.find import Door, find, load, make, offer, offers
from penstock.errors import StoreUnavailable
from tests.helpers.installed_packages import install_package, look_for_packages_again


class Greeter(Protocol):
    """Something to look for."""

    word: str

    @property
    def tone(self) -> str:
        """How it sounds."""
        ...

    def greet(self) -> str:
        """Say something."""
        ...


VALUES: Door[Greeter] = Door("greeter", "tests.greeters", (Greeter,))
MAKERS: Door[Callable[..., Greeter]] = Door("greeter", "tests.greeters", (Greeter,), is_maker=True)
NOTHING: Door[object] = Door("thing", "tests.nothing")
MODULE = """
from penstock.errors import StoreUnavailable

class Polite:
    tone = "soft"
    def __init__(self, word="hello"):
        self.word = word
    def greet(self):
        return self.word

class Mute:
    tone = "none"

class Wordless:
    tone = "soft"
    def greet(self):
        return ""

class Loud:
    tone = word = greet = "LOUD"

class Explodes:
    @property
    def tone(self):
        raise RuntimeError("no tone")
    word = "x"
    def greet(self): return ""

def away():
    raise StoreUnavailable("open", "x", "it is away")

polite, mute, number, explodes = Polite(), Mute(), 7, Explodes()
"""
MODULE_OF_EXTRA = "import a_module_that_nobody_has\n"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the path; modules that a test imported from it are forgotten again."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def greeters(packages: Path, **entries: str) -> None:
    install_package(
        packages,
        "acme-greeters",
        {"tests.greeters": entries},
        {"acme_greeters": MODULE, "acme_fancy": MODULE_OF_EXTRA},
        version="1.2",
    )


def test_a_value_is_found_by_its_name_and_nothing_is_imported_before(packages: Path) -> None:
    greeters(packages, polite="acme_greeters:polite", other="acme_greeters:Polite")
    assert [(each.name, each.package, each.version) for each in offers(VALUES)] == [
        ("other", "acme-greeters", "1.2"),
        ("polite", "acme-greeters", "1.2"),
    ]
    offer(VALUES, "polite")
    assert "acme_greeters" not in sys.modules
    assert find(VALUES, "polite").greet() == "hello"


def test_the_metadata_of_a_package_is_parsed_once_however_often_names_are_looked_up(
    packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    greeters(packages, polite="acme_greeters:polite", other="acme_greeters:Polite")
    read: list[str] = []
    real = PathDistribution.read_text

    def counted(package: PathDistribution, filename: str) -> str | None:
        text = real(package, filename)
        if filename == "METADATA" and text is not None:
            read.append(text)
        return text

    monkeypatch.setattr(PathDistribution, "read_text", counted)
    for name in ("polite", "other", "polite"):
        assert offer(VALUES, name).version == "1.2"
    assert len([text for text in read if "Name: acme-greeters" in text]) == 1


def test_a_maker_is_called_with_options_and_its_product_is_checked(packages: Path) -> None:
    greeters(packages, polite="acme_greeters:Polite", module="acme_greeters")
    assert make(MAKERS, offer(MAKERS, "polite"), word="hi").greet() == "hi"
    assert make(MAKERS, offer(MAKERS, "polite"), "hey").greet() == "hey"
    with pytest.raises(PluginBroken, match="unexpected keyword argument 'volume'"):
        make(MAKERS, offer(MAKERS, "polite"), volume=11)
    with pytest.raises(PluginBroken, match="cannot be called"):
        find(MAKERS, "module")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("mute", "it has no `greet` and no `word`"),
        ("number", "it has no `greet` and no `tone` and no `word`"),
        ("Loud", "it has no `greet`"),
        ("explodes", "RuntimeError: no tone"),
        ("Gone", "AttributeError: module 'acme_greeters' has no attribute 'Gone'"),
    ],
)
def test_what_lacks_something_is_refused_with_what_is_missing(
    packages: Path, target: str, why: str
) -> None:
    greeters(packages, odd=f"acme_greeters:{target}")
    with pytest.raises(PluginBroken) as caught:
        find(VALUES, "odd")
    assert caught.value.why == why
    assert "The greeter 'odd' of acme-greeters 1.2" in str(caught.value)


def test_a_class_needs_its_methods_at_once_and_its_data_when_it_is_made(packages: Path) -> None:
    greeters(packages, mute="acme_greeters:Mute", wordless="acme_greeters:Wordless")
    with pytest.raises(PluginBroken, match="it has no `greet`\\."):
        find(MAKERS, "mute")
    ref = offer(MAKERS, "wordless")
    assert load(MAKERS, ref) is not None
    with pytest.raises(PluginBroken, match="it has no `word`"):
        make(MAKERS, ref)


def test_an_error_of_ours_passes_while_something_is_made(packages: Path) -> None:
    greeters(packages, away="acme_greeters:away")
    with pytest.raises(StoreUnavailable):
        make(MAKERS, offer(MAKERS, "away"))


def test_an_unknown_name_lists_what_there_is_and_what_was_meant(packages: Path) -> None:
    greeters(packages, polite="acme_greeters:polite", mute="acme_greeters:mute")
    with pytest.raises(PluginUnknown) as caught:
        find(VALUES, "plite")
    assert "a greeter called 'plite'; there are: mute, polite; did you mean 'polite'?" in str(
        caught.value
    )
    with pytest.raises(PluginUnknown, match="there are none"):
        find(NOTHING, "x")


def test_a_name_that_two_packages_offer_is_refused_in_one_sentence(packages: Path) -> None:
    greeters(packages, polite="acme_greeters:polite")
    install_package(packages, "other-greeters", {"tests.greeters": {"polite": "os:sep"}}, {})
    with pytest.raises(PluginAmbiguous) as caught:
        find(VALUES, "polite")
    assert str(caught.value) == (
        "PLUGIN_AMBIGUOUS: Several packages offer a greeter called 'polite', acme-greeters 1.2 "
        "and other-greeters 1.0: uninstall all but one of them."
    )


def test_one_thing_offered_twice_is_no_doubt(packages: Path) -> None:
    greeters(packages, polite="acme_greeters:polite")
    again = {"tests.greeters": {"polite": "acme_greeters:polite"}}
    install_package(packages, "bundle", again, {})
    assert find(VALUES, "polite").greet() == "hello"


def test_a_missing_extra_is_told_in_one_sentence_with_the_command(packages: Path) -> None:
    greeters(packages, fancy="acme_fancy:fancy [fancy,gold]")
    with pytest.raises(ExtraMissing) as caught:
        find(VALUES, "fancy")
    assert str(caught.value) == (
        "EXTRA_MISSING: The greeter 'fancy' needs the module 'a_module_that_nobody_has', which is "
        "not installed: run `pip install 'acme-greeters[fancy,gold]'` here and on every executor."
    )


def test_a_module_that_no_extra_would_bring_is_a_broken_plug_in(packages: Path) -> None:
    greeters(packages, fancy="acme_fancy:fancy", gone="acme_gone:thing [fancy]")
    with pytest.raises(PluginBroken, match="No module named 'a_module_that_nobody_has'"):
        find(VALUES, "fancy")
    with pytest.raises(PluginBroken, match="No module named 'acme_gone'"):
        find(VALUES, "gone")


def test_a_reference_travels_and_is_loaded_where_there_is_no_metadata(packages: Path) -> None:
    greeters(packages, polite="acme_greeters:Polite")
    ref = pickle.loads(pickle.dumps(offer(MAKERS, "polite")))
    for info in packages.glob("*.dist-info/*"):
        info.unlink()
    look_for_packages_again()
    with pytest.raises(PluginUnknown):
        offer(MAKERS, "polite")
    assert make(MAKERS, ref, word="far").greet() == "far"


def test_every_door_has_a_group_and_a_word_of_its_own() -> None:
    assert len({each.group for each in EVERY_DOOR}) == len(EVERY_DOOR)
    assert len({each.word for each in EVERY_DOOR}) == len(EVERY_DOOR)
    assert all(each.group.startswith("penstock.") for each in EVERY_DOOR)
