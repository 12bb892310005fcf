"""Encrypted tables and stores."""

from __future__ import annotations

import base64
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lath

KEY = bytes(range(32))
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string())])


def new_table(folder: Path, count: int) -> None:
    rows = pa.table({"id": range(count), "name": [f"name {it}" for it in range(count)]}, schema=SCHEMA)
    with lath.Table.create(folder, SCHEMA, ["id"], background=False, encryption_key=KEY) as table:
        table.upsert(rows)
        table.flush()


def test_encrypted_tables_need_their_key(tmp_path: Path) -> None:
    new_table(tmp_path / "table", 10)
    for path in (tmp_path / "table").rglob("*"):
        assert path.is_dir() or b"name" not in path.read_bytes() or path.name == "_README"
    for wrong in [None, "ff" * 32]:
        with pytest.raises(lath.Error, match="key"):
            lath.Table.open(tmp_path / "table", encryption_key=wrong)
    with lath.Table.open(tmp_path / "table", read_only=True, encryption_key=KEY.hex()) as table:
        row = table.get(2)
        assert row is not None
        assert row.to_arrow().to_pylist() == [{"id": 2, "name": "name 2"}]
    with pytest.raises(ValueError, match="3 bytes"):
        lath.Table.open(tmp_path / "table", encryption_key=b"123")
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        lath.Table.open(tmp_path / "table", encryption_key="12")
    with pytest.raises(TypeError, match="hexadecimal"):
        lath.Table.open(tmp_path / "table", encryption_key=7)  # type: ignore[arg-type]


def test_encrypted_stores_need_their_key(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with lath.Store(path, encryption_key=KEY).transaction() as changes:
        changes[b"k"] = b"hush"
    # It has the store open.
    del changes
    assert b"hush" not in path.read_bytes()
    with pytest.raises(lath.Error, match="its key was not given"):
        lath.Store(path)
    assert lath.Store(path, encryption_key=KEY)[b"k"] == b"hush"


def test_pyarrow_reads_files_of_encrypted_tables(tmp_path: Path) -> None:
    ciphers = pytest.importorskip("cryptography.hazmat.primitives.ciphers.aead")
    encryption = pytest.importorskip("pyarrow.parquet.encryption")
    new_table(tmp_path / "table", 1000)

    class KeysOfLath(encryption.KmsClient):  # type: ignore[misc, name-defined]
        def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
            wrapped = base64.b64decode(wrapped_key)
            key: bytes = ciphers.AESGCM(KEY).decrypt(wrapped[:12], wrapped[12:], master_key_identifier.encode())
            return key

        def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
            raise NotImplementedError

    [file] = [path for path in (tmp_path / "table" / "_data").iterdir() if path.name != "_README"]
    factory = encryption.CryptoFactory(lambda _: KeysOfLath())
    properties = factory.file_decryption_properties(encryption.KmsConnectionConfig())
    read = pq.ParquetFile(file, decryption_properties=properties).read()
    assert read.column("id").to_pylist() == list(range(1000))
    assert read.column("name")[7].as_py() == "name 7"


@pytest.mark.parametrize("has_plaintext_footer", [False, True])
def test_encrypted_files_are_exchanged_with_pyarrow(tmp_path: Path, has_plaintext_footer: bool) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")
    path, key = tmp_path / "names.parquet", KEY[:16]
    table = pa.table({"id": range(1000), "name": ["secret name"] * 1000})
    keys: lath.WriteKeys = {"footer_key": key, "aad_prefix": b"names", "plaintext_footer": has_plaintext_footer}
    lath.write_table(table, path, encryption_properties=keys)
    assert b"secret name" not in path.read_bytes()
    reading = encryption.create_decryption_properties(footer_key=key)
    assert pq.read_table(path, decryption_properties=reading) == table
    assert lath.read_table(path, decryption_properties={"footer_key": key}) == table
    with pytest.raises(lath.EncryptedError):
        lath.read_table(path)
    with pytest.raises(lath.Error):
        lath.read_table(path, decryption_properties={"footer_key": KEY[16:]})
    pq.write_table(table, path, encryption_properties=encryption.create_encryption_properties(footer_key=key))
    assert lath.read_metadata(path, decryption_properties={"footer_key": key}).num_rows == 1000


def test_columns_have_their_own_keys_or_none(tmp_path: Path) -> None:
    path = tmp_path / "names.parquet"
    table = pa.table({"id": range(10), "name": ["secret"] * 10, "country": ["plain"] * 10})
    keys: lath.WriteKeys = {
        "footer_key": KEY,
        "column_keys": {"name": KEY[:16]},
        "plaintext_columns": ["country"],
        "plaintext_footer": True,
        "aad_prefix": b"names",
        "store_aad_prefix": False,
    }
    lath.write_table(table, path, encryption_properties=keys)
    assert b"secret" not in path.read_bytes() and b"plain" in path.read_bytes()
    assert lath.read_table(path, columns=["country"]).num_rows == 10
    whole: lath.ReadKeys = {"footer_key": KEY, "column_keys": {"name": KEY[:16]}, "aad_prefix": b"names"}
    assert lath.read_table(path, decryption_properties=whole) == table
    with pytest.raises(lath.EncryptedError):
        lath.read_table(path, columns=["name"])
    with pytest.raises(lath.InvalidError, match="there is no key 'colour'"):
        lath.write_table(table, path, encryption_properties={"footer_key": KEY, "colour": b""})  # type: ignore[arg-type]
    with pytest.raises(lath.InvalidError, match="give footer_key"):
        lath.write_table(table, path, encryption_properties={"column_keys": {}})
