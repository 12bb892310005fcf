"""The ordered store as a mapping of bytes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import lath


def new_store(tmp_path: Path) -> lath.Store:
    """A new store. No fixture makes it, so that tests on several threads have one each."""
    return lath.Store(tmp_path / "words.lath", durability="off")


def test_a_store_is_a_mapping(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    assert not store and len(store) == 0 and store.first() is None
    store[b"sky"] = b"blue"
    store[b"grass"] = bytearray(b"green")
    store[bytearray(b"sun")] = memoryview(b"yellow")
    assert store[b"sky"] == b"blue" and b"grass" in store and len(store) == 3 and store
    assert list(store) == list(store.keys()) == [b"grass", b"sky", b"sun"]
    assert list(reversed(store)) == [b"sun", b"sky", b"grass"]
    assert dict(store.items()) == {b"sky": b"blue", b"grass": b"green", b"sun": b"yellow"}
    assert list(store.values()) == [b"green", b"blue", b"yellow"]
    assert store.get(b"sea") is None and store.get(b"sea", b"?") == b"?"
    assert store.get_many([b"sun", b"sea", b"sky"]) == [b"yellow", None, b"blue"]
    assert store.first() == (b"grass", b"green") and store.last() == (b"sun", b"yellow")
    assert not store.insert(b"sky", b"grey") and store.insert(b"sea", b"grey")
    assert store.pop(b"sea") == b"grey" and store.pop(b"sea", None) is None
    del store[b"sky"]
    for missing in (lambda: store[b"sky"], lambda: store.pop(b"sky"), lambda: store.__delitem__(b"sky")):
        with pytest.raises(KeyError, match="sky"):
            missing()
    store.update({b"a": b"1", b"b": b"2"})
    store.update([(b"c", b"3")])
    assert store.count(b"a", b"c") == 2
    store.clear()
    assert len(store) == 0


def test_ranges_go_both_ways(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    keys = [b"%04d" % number for number in range(1000)]
    store.update((key, key[::-1]) for key in keys)
    assert [key for key, _ in store.range(b"0100", b"0900")] == keys[100:900]
    assert [key for key, _ in store.range(b"0100", b"0900", reverse=True)] == keys[100:900][::-1]
    assert [key for key, _ in store.range(b"0990")] == keys[990:]
    assert [key for key, _ in store.range(end=b"0003")] == keys[:3]
    assert [key for key, _ in store.prefix(b"07", limit=300)] == keys[700:800]
    assert [key for key, _ in store.prefix(b"07", limit=5, reverse=True)] == keys[795:800][::-1]
    assert store.remove_range(b"0100", b"0900") == 800
    assert len(store) == store.count() == 200


def test_iteration_sees_one_commit(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.update((b"%04d" % number, b"") for number in range(1000))
    seen = 0
    for key in store:
        seen += 1
        if seen == 1:
            store.clear()
    assert seen == 1000 and len(store) == 0


def test_transactions_are_all_or_nothing(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store.transaction() as transaction:
        transaction[b"a"] = b"1"
        transaction.tree("other")[b"b"] = b"2"
        assert transaction[b"a"] == b"1" and b"a" not in store
        assert list(transaction.items()) == [(b"a", b"1")]
        with pytest.raises(lath.InvalidError, match="this thread has a transaction open"):
            store[b"c"] = b"3"
    assert store[b"a"] == b"1" and store.tree("other")[b"b"] == b"2"
    assert store.tree_names() == ["main", "other"]
    with pytest.raises(ZeroDivisionError), store.transaction() as transaction:
        del transaction[b"a"]
        transaction.drop_tree("other")
        1 / 0  # noqa: B018
    assert store[b"a"] == b"1" and len(store.tree("other")) == 1
    with pytest.raises(lath.InvalidError, match="has ended"):
        transaction[b"a"]
    with store.transaction() as transaction:
        transaction.abort()
    open_one = store.transaction(durability="sync")
    open_one[b"z"] = b""
    del open_one
    assert b"z" not in store
    store[b"z"] = b"26"


def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    def add() -> None:
        for _ in range(50):
            with store.transaction() as transaction:
                transaction[b"n"] = b"%d" % (int(transaction.get(b"n", b"0")) + 1)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store[b"n"] == b"200"


def test_snapshots_stay_as_they_are(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store[b"a"] = b"1"
    before = store.snapshot()
    store.keep_snapshot("first")
    store[b"a"] = b"2"
    assert before[b"a"] == b"1" and store.snapshot("first")[b"a"] == b"1" and store[b"a"] == b"2"
    assert store.snapshot().sequence > before.sequence and store.snapshot_names() == ["first"]
    assert before.tree("none").get(b"a") is None
    with pytest.raises(lath.InvalidError, match="does not change"):
        before[b"a"] = b"3"
    with pytest.raises(lath.InvalidError, match='no snapshot named "none"'):
        store.snapshot("none")
    assert store.drop_snapshot("first") and not store.drop_snapshot("first")


def test_a_store_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "words.lath"
    store = lath.Store(path)
    store[b"a"] = b"1"
    store.sync()
    del store
    again = lath.Store(path, read_only=True, create=False)
    assert again[b"a"] == b"1"
    with pytest.raises(lath.InvalidError, match="read-only"):
        again[b"a"] = b"2"
    with pytest.raises(lath.NotFoundError):
        lath.Store(tmp_path / "none.lath", create=False)
    (tmp_path / "text").write_text("no store at all" * 1000)
    with pytest.raises(lath.Error):
        lath.Store(tmp_path / "text")
    with pytest.raises(TypeError, match="bytes, not str"):
        again["a"]  # type: ignore[index]
    with pytest.raises(lath.LimitError):
        lath.Store(tmp_path / "new.lath")[b"k" * 40_000] = b""
    with pytest.raises(ValueError, match="durability"):
        lath.Store(path, durability="never")  # type: ignore[arg-type]


class Mapping(RuleBasedStateMachine):
    """A store beside a dict."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.store = lath.Store(Path(self.folder.name) / "store", durability="off")
        self.model: dict[bytes, bytes] = {}

    keys = st.binary(max_size=4)

    @rule(key=keys, value=st.binary(max_size=20))
    def put(self, key: bytes, value: bytes) -> None:
        self.store[key] = value
        self.model[key] = value

    @rule(key=keys)
    def remove(self, key: bytes) -> None:
        assert self.store.pop(key, None) == self.model.pop(key, None)

    @rule(start=keys, end=keys)
    def remove_range(self, start: bytes, end: bytes) -> None:
        gone = [key for key in self.model if start <= key < end]
        assert self.store.remove_range(start, end) == len(gone)
        for key in gone:
            del self.model[key]

    @rule(entries=st.dictionaries(keys, st.binary(max_size=3)), keep=st.booleans())
    def transact(self, entries: dict[bytes, bytes], keep: bool) -> None:
        with self.store.transaction() as transaction:
            transaction.update(entries)
            if not keep:
                transaction.abort()
        if keep:
            self.model.update(entries)

    @rule(prefix=st.binary(max_size=2), reverse=st.booleans())
    def look(self, prefix: bytes, reverse: bool) -> None:
        expected = sorted(item for item in self.model.items() if item[0].startswith(prefix))
        assert list(self.store.prefix(prefix, reverse=reverse)) == (expected[::-1] if reverse else expected)

    @invariant()
    def is_equal(self) -> None:
        assert list(self.store.items()) == sorted(self.model.items())
        assert len(self.store) == len(self.model)

    def teardown(self) -> None:
        del self.store
        self.folder.cleanup()


# Hypothesis parses functions, which CPython 3.11 cannot do on several threads at a time near its limit of recursion.
TestMapping = pytest.mark.thread_unsafe(Mapping.TestCase)
TestMapping.settings = settings(
    max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


HOLD = """
import sys, lath
held = lath.Store(sys.argv[1]), lath.Table.open(sys.argv[2]), lath.Session(database=sys.argv[3])
held[2].sql("BEGIN")
print("open", flush=True)
sys.stdin.readline()
"""


def test_opening_waits_for_another_process(tmp_path: Path) -> None:
    store, table, database = tmp_path / "store", tmp_path / "table", tmp_path / "database"
    lath.Store(store)[b"a"] = b"1"
    lath.Table.create(table, pa.schema([pa.field("id", pa.int64(), nullable=False)]), ["id"]).close()
    lath.Session(database=database).close()

    def write(wait: float) -> lath.Session:
        session = lath.Session(database=database, wait=wait)
        session.sql("CREATE TABLE t (id BIGINT PRIMARY KEY)")
        return session

    openings: list[Callable[[float], lath.Store | lath.Table | lath.Session]] = [
        lambda wait: lath.Store(store, wait=wait),
        lambda wait: lath.Table.open(table, wait=wait),
        write,
    ]
    for opening in openings:
        command = [sys.executable, "-c", HOLD, str(store), str(table), str(database)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None and holder.stdin is not None
            assert holder.stdout.readline() == "open\n"
            with pytest.raises(lath.Error, match="process"):
                opening(0)
            release = threading.Timer(0.5, holder.communicate, ["\n"])
            release.start()
            opened = opening(60)
            release.join()
        if not isinstance(opened, lath.Store):
            opened.close()
        del opened
    with pytest.raises(ValueError, match="wait=-1"):
        lath.Store(store, wait=-1)
    with pytest.raises(ValueError, match="give its folder"):
        lath.Session(wait=1)


def test_a_store_is_closed(tmp_path: Path) -> None:
    with lath.Store(tmp_path / "s.lath") as store:
        store[b"a"] = b"1"
        tree = store.tree("other")
        with store.transaction() as changes:
            changes[b"b"] = b"2"
            with pytest.raises(lath.InvalidError, match="a transaction of the store is open"):
                store.close()
    store.close()
    with pytest.raises(lath.InvalidError, match="the store is closed"):
        store[b"a"]
    with pytest.raises(lath.InvalidError, match="the store is closed"):
        tree.get(b"a")
    with pytest.raises(lath.InvalidError, match="the store is closed"):
        store.update({b"a": b"2"})
    # Nothing keeps it open.
    with lath.Store(tmp_path / "s.lath", wait=0) as again:
        assert dict(again.items()) == {b"a": b"1", b"b": b"2"}
        snapshot = again.snapshot()
    assert snapshot[b"a"] == b"1"


def test_missing_keys_get_a_default(tmp_path: Path) -> None:
    with lath.Store(tmp_path / "s.lath") as store:
        assert store.setdefault(b"a", b"1") == b"1"
        assert store.setdefault(b"a", b"2") == b"1"
        with store.transaction() as changes:
            assert changes.setdefault(b"b", b"3") == b"3"
            assert changes.popitem() == (b"b", b"3")
        assert store.popitem() == (b"a", b"1")
        with pytest.raises(KeyError):
            store.popitem()
        with pytest.raises(TypeError, match="bytes"):
            store.setdefault("a", b"1")  # type: ignore[arg-type]
