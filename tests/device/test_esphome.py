"""The ESPHome component: ESPHome itself checks a configuration, writes the program and has its sources;
compiled here for its host platform, what it learns and answers are those of the twin."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sefr.device import Regression, library

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "build" / "esphome"  # make esphome-tools
COMPONENTS = library().parent / "esphome" / "components"
pytestmark = [
    pytest.mark.needs("esphome"),
    pytest.mark.slow,
    pytest.mark.skipif(not COMPONENTS.exists(), reason="the component is in the source tree only"),
]
CONFIGURATION = """
esphome:
  name: calibrated
  on_boot:
    priority: -200
    then:
      - lambda: |-
          {program}
external_components:
  - source:
      type: local
      path: {components}
host:
logger: {{level: WARN}}
sensor:
  - {{platform: template, id: gas, update_interval: never}}
  - {{platform: template, id: heater, update_interval: never}}
  - {{platform: template, id: analyser, update_interval: never}}
  - platform: sefr_calibration
    id: answer
    name: NOx
    sources:
      - {{source: gas, from: {low}, to: {high}}}
      - {{source: heater, from: 0, to: 255}}
    reference: analyser
    step: {step}
    half_life: 20
    update_interval: never
"""
# Answers before anything was learned; teaches in the first run only; then answers.
PROGRAM = """
          auto ask = [](float a, float b) {{
            gas->publish_state(a); heater->publish_state(b); answer->update();
            printf("answer %.3f\\n", answer->state);
          }};
          answer->update(); printf("answer %.3f\\n", answer->state);
          ask(100, 40);
          if (getenv("TEACH")) {{
            analyser->publish_state(5); analyser->publish_state(NAN); analyser->publish_state(1e9f);
            const float rows[][3] = {{{rows}}};
            for (auto &row : rows) {{
              gas->publish_state(row[0]); heater->publish_state(row[1]); analyser->publish_state(row[2]);
            }}
            global_preferences->sync();
          }}
          ask(100, 40); ask(0, 255); ask(-7, 300); ask(NAN, 1);
          fflush(stdout); _exit(0);
"""


def esphome(*words, folder):
    """Run ESPHome's command; return what it says and whether it is content."""
    environment = {**os.environ, "PYTHONPATH": str(TARGET)} if TARGET.exists() else dict(os.environ)
    command = [sys.executable, "-m", "esphome", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    return done.stdout + done.stderr, done.returncode == 0


def configured(folder, rows=(), step=0.5, low=0, high=255):
    text = ",".join("{" + ",".join(f"{value:.1f}f" for value in row) + "}" for row in rows) or "{0}"
    program = PROGRAM.format(rows=text).strip()
    fields = {"program": program, "components": COMPONENTS, "step": step, "low": low, "high": high}
    (folder / "host.yaml").write_text(CONFIGURATION.format(**fields))


def compiled(folder):
    """Compile every source that ESPHome wrote, as its platformio.ini asks for, and link."""
    build = folder / ".esphome" / "build" / "calibrated"
    flags = [
        "-I",
        str(build / "src"),
        "-DUSE_HOST",
        "-DESPHOME_LOG_LEVEL=ESPHOME_LOG_LEVEL_WARN",
        "-w",
        "-O1",
    ]

    def one(source):
        compiler = ["g++", "-std=gnu++20", "-fno-exceptions"] if source.suffix == ".cpp" else ["gcc"]
        made = folder / (str(source.relative_to(build)).replace("/", "_") + ".o")
        done = subprocess.run(
            [*compiler, *flags, "-c", str(source), "-o", str(made)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[:3000]
        return str(made)

    sources = [path for suffix in ("cpp", "c") for path in build.rglob(f"src/**/*.{suffix}")]
    assert any(source.name == "sefr_regress.c" for source in sources)
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(one, sources))
    subprocess.run(["g++", *objects, "-o", str(folder / "program"), "-lpthread"], check=True)
    return folder / "program"


def answers(program, home, **environment):
    done = subprocess.run(
        [str(program)], capture_output=True, text=True, check=True, env={"HOME": str(home), **environment}
    )
    words = [line.split() for line in done.stdout.splitlines() if line.startswith("answer ")]
    return [float(value) for _, value in words], done.stdout


def test_a_node_learns_answers_and_remembers_as_the_twin_does(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (30, 2))
    y = np.rint(0.8 * X[:, 0] - 0.3 * X[:, 1] + 12)
    configured(tmp_path, np.column_stack([X, y]).tolist())
    said, content = esphome("compile", "--only-generate", "host.yaml", folder=tmp_path)
    assert content, said
    program = compiled(tmp_path)
    twin = Regression(half_life=20)
    twin.learn([[100, 40]], [10])  # the first reference, with what the sources showed then; in steps of 0.5
    for row, number in zip(X, y, strict=True):
        twin.learn([row], [int(2 * number)])
    expected = twin.solve().predict([[100, 40], [0, 255], [0, 255]]) / 2
    found, text = answers(program, tmp_path, TEACH="1")
    assert np.isnan(found[:2]).all()
    assert found[2:5] == expected.tolist()
    assert np.isnan(found[5])
    assert text.count("is not learned") == 2  # not a number, and beyond 16 bits
    again, _ = answers(program, tmp_path)  # after a restart it knows
    assert again[1:5] == [expected[0], *expected]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"low": 255, "high": 0}, "from must be below to"), ({"step": 0}, "step")],
)
def test_what_makes_no_sense_is_refused(tmp_path, change, message):
    configured(tmp_path, **change)
    said, content = esphome("config", "host.yaml", folder=tmp_path)
    assert not content
    assert message in said


def test_the_example_is_a_configuration(tmp_path):
    """For an ESP32, by ESPHome's own rules."""
    text = (COMPONENTS.parent / "self-calibration.yaml").read_text()
    (tmp_path / "node.yaml").write_text(text.replace("path: components", f"path: {COMPONENTS}"))
    said, content = esphome("config", "node.yaml", folder=tmp_path)
    assert content, said
