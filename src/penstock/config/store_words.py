"""What `store:` says to one kind of store, read word by word."""

from collections.abc import Collection

from penstock.api.errors import StoreSettingUnknown, StoreSettingWrong
from penstock.config import units
from penstock.model.store_spec import StoreSpec

_SWITCH = {"true": True, "yes": True, "false": False, "no": False}
_ADDRESSES = ("http://", "https://")


class StoreWords:
    """The settings in a spec. Raises `StoreSettingUnknown` at once, then `StoreSettingWrong`.

    What is `secret` is never in an error.
    """

    def __init__(
        self, spec: StoreSpec, known: tuple[str, ...], secret: Collection[str] = ()
    ) -> None:
        for key in spec.settings:
            if key not in known:
                raise StoreSettingUnknown(spec.scheme, key, known)
        self._spec = spec
        self._secret = secret

    def __contains__(self, key: str) -> bool:
        return key in self._spec.settings

    def find(self, key: str) -> str | None:
        """A word as it stands there; None without one."""
        return self._spec.settings.get(key)

    def text(self, key: str) -> str:
        """A word as it stands there; empty without one."""
        return self._spec.settings.get(key, "")

    def switch(self, key: str) -> bool:
        """True or false; false without a word."""
        word = self._spec.settings.get(key, "false").lower()
        if word not in _SWITCH:
            raise self.wrong(key, "true or false")
        return _SWITCH[word]

    def duration_s(self, key: str, usual_s: float) -> float:
        """A duration longer than zero."""
        word = self.find(key)
        found = usual_s if word is None else units.longer_than_nothing_s(word)
        if found is None:
            raise self.wrong(key, units.DURATION)
        return found

    def size_bytes(self, key: str, usual_bytes: int) -> int | None:
        """A size; None for a word that is none."""
        word = self.find(key)
        return usual_bytes if word is None else units.size_bytes(word)

    def address(self, key: str, example: str) -> str:
        """An address of HTTP without a slash at its end; empty without a word."""
        word = self.text(key)
        if word and not word.startswith(_ADDRESSES):
            raise self.wrong(key, f"an address such as {example}")
        return word.rstrip("/")

    def wrong(self, key: str, allowed: str) -> StoreSettingWrong:
        """The error for a word that does not fit."""
        found = "***" if key in self._secret else repr(self.text(key))
        return StoreSettingWrong(self._spec.scheme, key, found, allowed)
