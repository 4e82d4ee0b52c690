"""The lock on a file: one holder at a time, gone with its process, nothing left behind."""

import os
import signal
import subprocess
import sys
import time

import pytest

from sefr._system.lock import locked

COUNT = """
import sys
from sefr._system.lock import locked
for _ in range({times}):
    with locked("n"):
        n = int(open("n").read())
        open("n", "w").write(str(n + 1))
"""


def run(program):
    return subprocess.Popen([sys.executable, "-c", program])


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_processes_that_count_in_one_file_lose_nothing():
    with open("n", "w") as file:
        file.write("0")
    runs = [run(COUNT.format(times=60)) for _ in range(6)]
    assert [process.wait() for process in runs] == [0] * 6
    with open("n") as file:
        assert file.read() == "360"
    assert os.listdir() == ["n"]


def test_a_lock_whose_holder_was_killed_is_free():
    holder = run("import time\nfrom sefr._system.lock import locked\nwith locked('n'): time.sleep(60)")
    while not os.path.exists(".n.lock"):
        time.sleep(0.02)
    time.sleep(0.2)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert os.path.exists(".n.lock")
    with locked("n"):
        pass
    assert os.listdir() == []


def test_whoever_waits_is_told():
    told = []
    holder = run("import time\nfrom sefr._system.lock import locked\nwith locked('n'): time.sleep(2.5)")
    while not os.path.exists(".n.lock"):
        time.sleep(0.02)
    time.sleep(0.2)
    with locked("n", lambda: told.append("waiting")):
        assert told == ["waiting"]
    assert holder.wait() == 0


def test_names_of_one_file_share_its_lock():
    with open("n", "w"):
        os.symlink("n", "m")
    with locked("m"):
        assert os.path.exists(".n.lock")
    with locked("/dev/null"):
        assert not os.path.exists("/dev/.null.lock")


def test_sefr_is_imported_without_filelock_and_without_fcntl():
    program = """
import sys
sys.modules["filelock"] = None
sys.modules["fcntl"] = None
import sefr, sefr.model_file, sefr.classifier, sefr.comparison, sefr._system.lock
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
