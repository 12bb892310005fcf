"""Keys of files with modular encryption, as arguments of reading and writing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from lath._errors import InvalidError


class ReadKeys(TypedDict, total=False):
    """The keys of a file that is read."""

    #: The key of the footer, and of columns that ``column_keys`` does not name: 16, 24 or 32 bytes.
    footer_key: bytes
    #: Keys of columns, by their paths with dots.
    column_keys: Mapping[str, bytes]
    #: The prefix that was authenticated and is not in the file.
    aad_prefix: bytes


class WriteKeys(ReadKeys, total=False):
    """The keys of a file that is written: 16 or 32 bytes each."""

    #: Bytes from which readers find the key of the footer.
    footer_key_metadata: bytes
    #: Columns that are not encrypted.
    plaintext_columns: list[str]
    #: Whether the footer is signed instead of encrypted, so that anyone can read the other columns.
    plaintext_footer: bool
    #: Whether the prefix is in the file; otherwise readers have to give it.
    store_aad_prefix: bool


def read_keys(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keys as arguments of :func:`lath.open`."""
    return {} if given is None else _known("decryption_properties", given, ReadKeys)


def write_keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keys as the compiled part takes them."""
    keys = _known("encryption_properties", given, WriteKeys)
    if "footer_key" not in keys:
        raise InvalidError("encryption_properties: give footer_key")
    return {
        "footer_key_metadata": None,
        "column_keys": {},
        "plaintext_columns": [],
        "plaintext_footer": False,
        "aad_prefix": None,
        "store_aad_prefix": True,
        **keys,
    }


def _known(argument: str, given: Mapping[str, Any], kind: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        names = ", ".join(sorted(kind.__required_keys__ | kind.__optional_keys__))
        raise InvalidError(f"{argument}: give a dict of keys ({names}); properties of pyarrow do not show theirs")
    known = kind.__required_keys__ | kind.__optional_keys__
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise InvalidError(f"{argument}: there is no key {unknown!r}; there are {', '.join(sorted(known))}")
    return dict(given)
