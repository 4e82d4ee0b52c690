"""One model file and many processes, full disks, closed pipes, signals: no row lost, no false exit code."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.driver import assert_one_line, process

from sefr import load
from sefr.model_file import parse as load_bytes

processes = pytest.mark.slow  # starting Python with scikit-learn takes a second or more

CROWD = """
import os, sys
from sefr.cli import main

JOBS = {
    "update": ["update", "m.sefr", "iris.csv", "--quiet"],
    "merge": ["merge", "m.sefr", "other.sefr", "-o", "m.sefr", "--quiet"],
    "forget": ["forget", "m.sefr", "ten.csv", "--quiet"],
    "predict": ["predict", "m.sefr", "iris.csv", "-o", "out.csv", "--quiet"],
}

def run(job):
    sys.argv = ["sefr", *JOBS[job]]
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0

import sefr.cli.changes, sefr.cli.predict  # what a child would import again
children = []
for job in sys.argv[1].split(","):
    children.append(os.fork())
    if not children[-1]:
        os._exit(run(job))
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


@pytest.mark.slow
def test_processes_that_update_merge_forget_and_predict_one_model_lose_no_rows(sefr, iris):
    sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "m.sefr")
    sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "other.sefr")
    iris[::15].to_csv("ten.csv", index=False)
    jobs = ["update", "merge", "forget", "predict"] * 4
    for _ in range(2):
        subprocess.run([sys.executable, "-c", CROWD, ",".join(jobs)], check=True)
    assert load("m.sefr").summary_.n_rows == 150 + 2 * 4 * (150 + 150 - 10)
    assert sorted(os.listdir()) == ["iris.csv", "m.sefr", "other.sefr", "out.csv", "ten.csv"]


def rows():
    return load("m.sefr").summary_.n_rows


@pytest.fixture
def model(sefr, iris):
    sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "m.sefr")


@processes
@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("how", [[], ["--json"]], ids=["screen", "json"])
@pytest.mark.parametrize("where", ["/dev/full", "a closed pipe"])
def test_an_update_that_cannot_say_so_is_done_all_the_same(how, where):
    if where == "/dev/full":
        with open(where, "wb") as full, process("update", "m.sefr", "iris.csv", *how, stdout=full) as run:
            _out, err = run.communicate()
    else:
        reader, writer = os.pipe()
        os.close(reader)
        with process("update", "m.sefr", "iris.csv", *how, stdout=writer) as run:
            os.close(writer)
            _out, err = run.communicate()
    assert rows() == 300
    assert run.returncode == 0, err
    assert err.startswith(b"sefr: m.sefr was written; standard output: ")
    assert err.count(b"\n") == 1


@processes
@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("command", ["evaluate", "predict", "explain"])
def test_a_command_whose_answer_is_lost_has_failed(command):
    arguments = {
        "evaluate": ["iris.csv", "--model", "m.sefr"],
        "predict": ["m.sefr", "iris.csv"],
        "explain": ["m.sefr"],
    }[command]
    with open("/dev/full", "wb") as full, process(command, *arguments, stdout=full) as run:
        _out, err = run.communicate()
    assert run.returncode == 1
    assert b"No space left" in err
    assert b"Traceback" not in err


SIGNALLED = """
import os, signal, sys
from sefr.cli import main
replace = os.replace
def replace_and_signal(*paths):
    if {before}: os.kill(os.getpid(), signal.SIGTERM)
    replace(*paths)
    os.kill(os.getpid(), signal.SIGTERM)
os.replace = replace_and_signal
sys.argv = ["sefr", "update", "m.sefr", "iris.csv"]
main()
"""


@processes
@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("before", [False, True])
def test_the_exit_code_after_a_signal_tells_what_became_of_the_file(before):
    run = subprocess.run([sys.executable, "-c", SIGNALLED.format(before=before)], capture_output=True)
    assert b"Traceback" not in run.stderr
    if before:
        assert (run.returncode, rows()) == (130, 150)
        assert run.stderr == b"sefr: interrupted; nothing was written\n"
    else:
        assert (run.returncode, rows()) == (0, 300)
        assert run.stderr == b"sefr: interrupted, but m.sefr was written\n"
    assert sorted(os.listdir()) == ["iris.csv", "m.sefr"]


def closed(descriptor):
    return {"preexec_fn": lambda: os.close(descriptor), "stdin": None, "stdout": None}


@processes
@pytest.mark.usefixtures("model")
def test_closed_standard_streams_are_said_and_no_traceback():
    with process("train", "-", "-l", "species", **closed(0)) as run:
        _out, err = run.communicate()
    assert (run.returncode, err) == (1, b"sefr: standard input: is closed\n")
    with process("predict", "m.sefr", "iris.csv", **closed(1)) as run:
        _out, err = run.communicate()
    assert (run.returncode, err) == (1, b"sefr: standard output: is closed\n")
    with process("update", "m.sefr", "iris.csv", **closed(1)) as run:
        _out, err = run.communicate()
    assert (run.returncode, rows()) == (0, 300), err
    assert b"m.sefr was written" in err
    with process("train", "nowhere.csv", "-l", "y", **closed(2)) as run:
        assert run.wait() == 1
    assert sorted(os.listdir()) == ["iris.csv", "m.sefr"]


@processes
@pytest.mark.usefixtures("iris")
@pytest.mark.parametrize("name", ["/dev/stdout", "-"])
def test_a_model_goes_to_standard_output(name):
    with process("train", "iris.csv", "-l", "species", "--paper", "-o", name) as run:
        out, err = run.communicate()
    assert run.returncode == 0, err
    Path("m.sefr").write_bytes(out)
    assert rows() == 150
    assert b"150 rows" in err  # what is said goes to the other stream
    with process("predict", "m.sefr", "iris.csv", "-o", "/dev/stdout") as run:
        out, err = run.communicate()
    assert run.returncode == 0, err
    assert out.startswith(b"prediction")
    assert len(out.splitlines()) == 151


@pytest.mark.usefixtures("model")
def test_a_loop_of_links_is_one_line(sefr):
    os.symlink("a", "b")
    os.symlink("b", "a")
    for command in (
        ("train", "a", "-l", "y"),
        ("train", "iris.csv", "-l", "species", "--paper", "-o", "a"),
        ("update", "a", "iris.csv"),
        ("merge", "m.sefr", "m.sefr", "-o", "a"),
        ("predict", "m.sefr", "iris.csv", "-o", "a"),
        ("explain", "a"),
    ):
        assert_one_line(*sefr(*command), "")
    assert os.path.islink("a")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.usefixtures("model")
def test_root_that_updates_a_model_leaves_it_to_its_owner(sefr):
    os.chown("m.sefr", 1234, 5678)
    os.chmod("m.sefr", 0o640)
    assert sefr("update", "m.sefr", "iris.csv")[0] == 0
    found = os.stat("m.sefr")
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 5678, 0o640)


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("target", ["onnx", "c", "arduino"])
def test_exports_follow_the_umask(sefr, target):
    before = os.umask(0o027)
    try:
        code, out, err = sefr(
            "export", "m.sefr", "--to", target, "--json", *(["-o", "."] * (target != "onnx"))
        )
    finally:
        os.umask(before)
    assert code == 0, err
    made = Path(json.loads(out)["output"])
    files = [made, *made.rglob("*")] if made.is_dir() else [made]
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == (0o750 if path.is_dir() else 0o640), path


@pytest.mark.slow
@pytest.mark.usefixtures("model")
def test_whoever_waits_for_the_lock_can_be_interrupted():
    hold = "import time\nfrom sefr._system.lock import locked\nwith locked('m.sefr'): time.sleep(30)"
    with subprocess.Popen([sys.executable, "-c", hold]) as holder:
        while not os.path.exists(".m.sefr.lock"):
            time.sleep(0.05)
        time.sleep(0.3)
        with process("update", "m.sefr", "iris.csv") as run:
            while b"waiting for another process" not in run.stderr.readline():
                pass
            run.send_signal(signal.SIGINT)
            assert run.wait(20) == 130
        holder.kill()
    assert rows() == 150


@pytest.mark.usefixtures("model")
def test_a_batch_of_one_name_is_learned_once(sefr, iris):
    assert sefr("update", "m.sefr", "iris.csv", "--once", "monday")[0] == 0
    before = Path("m.sefr").read_bytes()
    code, out, _err = sefr("update", "m.sefr", "iris.csv", "--once", "monday")
    assert (code, rows()) == (0, 300)
    assert "monday was learned before" in out
    assert Path("m.sefr").read_bytes() == before
    _code, out, _err = sefr("update", "m.sefr", "iris.csv", "--once", "tuesday", "--json")
    assert json.loads(out)["learned"] == 150
    _code, out, _err = sefr("update", "m.sefr", "iris.csv", "--once", "tuesday", "--json", "-o", "copy.sefr")
    assert json.loads(out)["learned"] == 0
    assert load("copy.sefr").summary_.n_rows == 450
    sefr("train", "iris.csv", "-l", "species", "--paper", "-o", "other.sefr")
    assert sefr("merge", "other.sefr", "m.sefr", "-o", "both.sefr")[0] == 0
    assert "learned before" in sefr("update", "both.sefr", "iris.csv", "--once", "monday")[1]
    assert_one_line(*sefr("merge", "m.sefr", "both.sefr", "-o", "x.sefr"), "'monday' was learned by another")
    assert_one_line(*sefr("update", "m.sefr", "iris.csv", "--once", "x" * 201), "up to 200 characters")
    assert rows() == 450


@pytest.mark.usefixtures("model")
def test_a_retry_after_a_kill_counts_nothing_twice(sefr):
    """Killed just after the renaming, the process cannot say that it was done."""
    child = os.fork()
    if not child:
        replace = os.replace

        def replace_and_die(*paths):
            replace(*paths)
            os.kill(os.getpid(), signal.SIGKILL)

        os.replace = replace_and_die
        sefr("update", "m.sefr", "iris.csv", "--once", "monday")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert rows() == 300
    assert sefr("update", "m.sefr", "iris.csv", "--once", "monday")[0] == 0
    assert rows() == 300


@pytest.mark.usefixtures("model")
def test_a_batch_is_known_by_its_content(sefr, iris):
    assert sefr("update", "m.sefr", "iris.csv", "--once", "content")[0] == 0
    os.rename("iris.csv", "another_name.csv")
    code, out, _err = sefr("update", "m.sefr", "another_name.csv", "--once", "content")
    assert (code, rows()) == (0, 300)
    assert "sha256:" in out
    assert "was learned before" in out
    iris.to_csv("packed.csv.gz", index=False)  # the content is what is packed
    assert "was learned before" in sefr("update", "m.sefr", "packed.csv.gz", "--once", "content")[1]
    iris[1:].to_csv("others.csv", index=False)
    assert sefr("update", "m.sefr", "others.csv", "--once", "content")[0] == 0
    assert rows() == 449


@pytest.mark.usefixtures("model", "iris")
@pytest.mark.parametrize("name", ["monday", "content"])
def test_forget_takes_a_name_back(sefr, name):
    before = Path("m.sefr").read_bytes()
    code, out, _err = sefr("forget", "m.sefr", "iris.csv", "--once", name)
    assert code == 0
    assert "is not among what was learned" in out
    assert Path("m.sefr").read_bytes() == before
    assert sefr("update", "m.sefr", "iris.csv", "--once", name)[0] == 0
    for expected in (150, 0):  # a retry changes nothing
        _code, out, _err = sefr("forget", "m.sefr", "iris.csv", "--once", name, "--json")
        assert json.loads(out) == {"model": "m.sefr", "forgot": expected, "rows": 150}
    assert load("m.sefr").summary_ == load_bytes(before).summary_
    assert sefr("update", "m.sefr", "iris.csv", "--once", name)[0] == 0
    assert rows() == 300
