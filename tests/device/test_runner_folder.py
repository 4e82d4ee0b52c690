"""What runs the boards is executed: it never comes from a folder that somebody else can write to."""

import os
import tempfile

import pytest

from sefr.device import board


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_of_ones_own_is_used_again(temporary):
    first = board._own_folder("runner")
    assert first == temporary / "runner" == board._own_folder("runner")
    assert first.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_write_to_is_not_used(temporary):
    (temporary / "runner").mkdir()
    (temporary / "runner").chmod(0o777)
    assert board._own_folder("runner") != temporary / "runner"


def test_a_link_is_not_followed(temporary):
    (temporary / "elsewhere").mkdir(mode=0o700)
    (temporary / "runner").symlink_to(temporary / "elsewhere")
    found = board._own_folder("runner")
    assert found != temporary / "runner"
    assert found.stat().st_uid == os.getuid()
