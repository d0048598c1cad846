"""Files are written whole or not at all, whatever goes wrong on the way."""

import errno
import os
import stat
import tomllib
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.files import new_folder, read_whole, sweep, sync, tables, write_whole

full_disk = OSError(errno.ENOSPC, "No space left on device")


def fail(*_: object) -> None:
    raise full_disk


def fail_at(monkeypatch: pytest.MonkeyPatch, call: str, number: int) -> None:
    """The call of this number (the first is 0) raises; earlier and later ones do what they do."""
    real, calls = getattr(os, call), iter(range(1000))
    monkeypatch.setattr(os, call, lambda *given: fail() if next(calls) == number else real(*given))


@pytest.mark.parametrize("content", ["ünï\n", b"\x00\xff", ""])
def test_what_was_written_is_read(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "a.txt"
    assert write_whole(path, content) == path
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("there", [True, False])
def test_a_failed_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, there: bool
) -> None:
    path = tmp_path / "a.txt"
    if there:
        path.write_text("before")
    fail_at(monkeypatch, call, 0)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "after")
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"] * there
    if there:
        assert path.read_text() == "before"


def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "a.txt"
    path.write_text("before")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_content_is_on_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    happened = []
    for call in ("fsync", "replace"):
        real = getattr(os, call)
        monkeypatch.setattr(os, call, lambda *given, call=call, real=real: (happened.append(call), real(*given)))
    write_whole(tmp_path / "a.txt", "x")
    assert happened == ["fsync", "replace", "fsync"]  # the content, the move, and the folder that knows the name


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_it_may_be_read_by_whom_the_umask_allows(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        path = write_whole(tmp_path / "a.txt", "x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
        assert os.umask(mask) == mask  # and the umask is as it was
    finally:
        os.umask(before)


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "no" / "a.txt", "x")


def test_a_new_folder_is_not_seen_before_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "run"
    with new_folder(target) as making:
        (making / "a").write_text("1")
        assert not target.exists()
        assert making.parent == target.parent  # a move between disks would be a copy
        (making / "b").write_text("2")
    assert {file.name: file.read_text() for file in target.iterdir()} == {"a": "1", "b": "2"}
    assert list(target.parent.iterdir()) == [target]


def test_a_folder_that_failed_was_never_there(tmp_path: Path) -> None:
    def broken() -> None:
        with new_folder(tmp_path / "run") as making:
            (making / "a").write_text("1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("call", "number"), [("fsync", 0), ("fsync", 1), ("fsync", 2), ("rename", 0)])
def test_a_new_folder_is_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    def make() -> None:
        with new_folder(tmp_path / "run") as making:
            (making / "a").write_text("1")
            (making / "b").write_text("2")

    fail_at(monkeypatch, call, number)
    with pytest.raises(OSError, match="No space left"):
        make()
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_may_take_the_place_of_an_empty_one_only(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with new_folder(tmp_path / "empty") as making:
        (making / "a").write_text("1")
    assert (tmp_path / "empty" / "a").read_text() == "1"
    with pytest.raises(OSError, match=r"empty"), new_folder(tmp_path / "empty") as making:
        (making / "a").write_text("2")
    assert (tmp_path / "empty" / "a").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_sync_takes_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    sync(tmp_path / "a")
    sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "b")


def test_sweep_takes_only_what_killed_writers_left(tmp_path: Path) -> None:
    (tmp_path / ".a.txt.tmp-x1").write_text("half")
    (tmp_path / ".run.tmp-x2").mkdir()
    (tmp_path / ".run.tmp-x2" / "weights").write_text("half")
    kept = ["a.txt", ".hidden", "b.tmp-c", "tmp-"]
    for name in kept:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".link.tmp-x3").symlink_to(tmp_path / "a.txt")
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    sweep(tmp_path / "no")


def test_only_regular_files_of_a_bearable_size_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_whole(path, 5) == b"12345"
    with pytest.raises(RegardError, match=r"a has 5 bytes; expected at most 4"):
        read_whole(path, 4)
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero"):
        with pytest.raises(RegardError, match="is not a regular file"):
            read_whole(tmp_path / name, 5)
    with pytest.raises(IsADirectoryError):
        read_whole(tmp_path, 5)
    with pytest.raises(FileNotFoundError):
        read_whole(tmp_path / "none", 5)


def test_a_key_of_many_parts_is_refused_before_tomllib_takes_gigabytes_for_it() -> None:
    assert tables(b"[a.b]\nc.d = 1.5") == {"a": {"b": {"c": {"d": 1.5}}}}
    for content in (b"a" + b".a" * 30_000 + b" = 1", b"\n[a" + b".a" * 30_000 + b"]"):
        with pytest.raises(tomllib.TOMLDecodeError, match="More than 100 dots"):
            tables(content)
