"""Files written whole or not at all: owner, mode, umask, links and streams."""

import os
import stat
import subprocess
import sys
import threading

import pytest

import sefr._system.atomic_file as atomic_file_module
from sefr._system.atomic_file import atomic_file, replace_folder, was_written


def write(path, content=b"new"):
    with atomic_file(path) as file:
        file.write(content)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_follows_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        write(tmp_path / "f")
    finally:
        os.umask(before)
    assert mode(tmp_path / "f") == 0o666 & ~mask


def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    """Another thread that creates a file at that moment would make it writable for everybody."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was set"))
    write(tmp_path / "f")


@pytest.mark.parametrize("old", [0o600, 0o664, 0o444])
def test_the_mode_of_an_old_file_is_kept_and_nobody_reads_the_new_one_before(tmp_path, old):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(old)
    with atomic_file(path) as file:
        assert os.fstat(file.fileno()).st_mode & 0o777 == old
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == old


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_keeps_the_owner_of_a_file(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    os.chown(path, 1234, 5678)
    write(path)
    found = path.stat()
    assert (found.st_uid, found.st_gid) == (1234, 5678)


def test_a_link_is_followed_and_a_loop_is_an_error(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "link", "real"]


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_its_name_is_written_to_directly(tmp_path, path):
    program = (
        f"from sefr._system.atomic_file import atomic_file\nwith atomic_file({path!r}) as f: f.write(b'x')"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert run.stdout == b"x"
    with open(tmp_path / "out", "ab") as out:
        out.write(b"before ")
        out.flush()
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"before x"


class Signal(BaseException):
    """What a signal handler raises."""


def test_a_signal_just_after_the_renaming_leaves_no_doubt_that_the_file_is_there(tmp_path, monkeypatch):
    replace = os.replace

    def replace_and_signal(*paths):
        replace(*paths)
        raise Signal

    monkeypatch.setattr(os, "replace", replace_and_signal)
    with pytest.raises(Signal):
        write(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"new"
    assert was_written(tmp_path / "f")
    assert os.listdir(tmp_path) == ["f"]


def test_a_signal_before_the_renaming_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(b"old")

    def signal(*_paths):
        raise Signal

    monkeypatch.setattr(os, "replace", signal)
    with pytest.raises(Signal):
        write(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"old"
    assert not was_written(tmp_path / "f")
    assert os.listdir(tmp_path) == ["f"]


def test_threads_write_one_file_whole(tmp_path):
    contents = [bytes([65 + i]) * 100_000 for i in range(8)]
    threads = [threading.Thread(target=write, args=(tmp_path / "f", content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "f").read_bytes() in contents
    assert os.listdir(tmp_path) == ["f"]


@pytest.fixture
def folders(tmp_path):
    for name in ("old", "fresh"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "which").write_text(name)
    return tmp_path


@pytest.mark.parametrize("exchange", [True, False], ids=["in one step", "in two"])
def test_a_folder_takes_the_place_of_another(folders, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(atomic_file_module, "_exchanged", lambda *_: False)
    replace_folder(folders / "fresh", folders / "old")
    assert (folders / "old" / "which").read_text() == "fresh"
    assert (folders / "fresh" / "which").read_text() == "old"
    assert sorted(os.listdir(folders)) == ["fresh", "old"]
    assert was_written(folders / "old")


def test_a_folder_is_back_in_its_place_after_an_error(folders, monkeypatch):
    monkeypatch.setattr(atomic_file_module, "_exchanged", lambda *_: False)
    replace = os.replace

    def fail_once(one, other):
        if str(one).endswith("fresh"):
            raise OSError(5, "Input/output error")
        replace(one, other)

    monkeypatch.setattr(os, "replace", fail_once)
    with pytest.raises(OSError, match="Input/output"):
        replace_folder(folders / "fresh", folders / "old")
    assert (folders / "old" / "which").read_text() == "old"
    assert not was_written(folders / "old")


def test_a_signal_while_the_temporary_file_is_made_leaves_none(tmp_path, monkeypatch):
    opened = os.open

    def open_and_signal(*arguments, **options):
        opened(*arguments, **options)
        raise Signal

    monkeypatch.setattr(os, "open", open_and_signal)
    with pytest.raises(Signal):
        write(tmp_path / "f")
    assert os.listdir(tmp_path) == []
