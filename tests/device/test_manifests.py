"""The device folder as a package: one version, a licence, and manifests that the ecosystems accept."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sefr.device import library

DEVICE = library().parent
yaml = pytest.importorskip("yaml")
pytestmark = [
    pytest.mark.needs("manifests"),
    pytest.mark.skipif(library().name != "src", reason="the manifests are in the source tree only"),
]
# https://arduino.github.io/arduino-cli/latest/library-specification/
CATEGORIES = {
    "Display",
    "Communication",
    "Signal Input/Output",
    "Sensors",
    "Device Control",
    "Timing",
    "Data Storage",
    "Data Processing",
    "Other",
}


def properties():
    lines = (DEVICE / "library.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def project_version():
    return re.search(r"version: '([\d.]+)'", (DEVICE.parent / "meson.build").read_text())[1]


def idf():
    return yaml.safe_load((DEVICE / "idf_component.yml").read_text())


def test_one_version():
    assert properties()["version"] == project_version()
    assert json.loads((DEVICE / "library.json").read_text())["version"] == project_version()
    assert idf()["version"] == project_version()


def test_the_licence_is_the_project_s():
    assert (DEVICE / "LICENSE").read_text() == (DEVICE.parent / "LICENSE").read_text()
    assert json.loads((DEVICE / "library.json").read_text())["license"] == idf()["license"] == "BSD-3-Clause"


def test_the_arduino_manifest_follows_its_specification():
    """The rules that arduino-lint checks for a library in the library manager."""
    found = properties()
    required = "name version author maintainer sentence paragraph category url architectures"
    for key in required.split():
        assert found[key].strip(), key
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", found["name"])
    assert not found["name"].lower().startswith("arduino")
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["version"])
    assert found["category"] in CATEGORIES
    assert found["sentence"].endswith(".")
    assert found["sentence"] not in found["paragraph"]
    assert found["url"].startswith("https://")
    for header in found["includes"].split(","):
        assert (DEVICE / "src" / header.strip()).is_file()
    assert not list(DEVICE.rglob("*.exe")) + [path for path in DEVICE.rglob("*") if path.is_symlink()]
    for example in (path for path in (DEVICE / "examples").iterdir() if not path.name.startswith("esp-idf")):
        assert (example / f"{example.name}.ino").is_file()


def test_keywords_are_separated_by_tabs_and_exist():
    header = "".join(file.read_text() for file in (DEVICE / "src").glob("sefr*.h"))
    for line in (DEVICE / "keywords.txt").read_text().splitlines():
        word, kind = line.split("\t")
        assert kind in {"KEYWORD1", "KEYWORD2", "LITERAL1"}
        assert re.search(rf"\b{word}\b", header), word


def test_the_platformio_manifest():
    from platformio.package.manifest import parser, schema

    manifest = parser.LibraryJsonManifestParser((DEVICE / "library.json").read_text())
    fields = manifest.as_dict()
    assert fields.pop("license") == "BSD-3-Clause"  # the tool would fetch the list from the network
    data = schema.ManifestSchema().load_manifest(fields)
    assert data["name"] == "SEFR"
    for header in data["headers"]:
        assert (DEVICE / "src" / header).is_file()


def test_the_esp_idf_manifest():
    from idf_component_tools import manager

    manifest = manager.ManifestManager(str(DEVICE), "sefr").load()
    assert str(manifest.version) == project_version()
    assert "idf_component_register" in (DEVICE / "CMakeLists.txt").read_text()


def test_the_zephyr_module():
    """The fields that scripts/zephyr_module.py of Zephyr reads: cmake is a folder, kconfig a file."""
    module = yaml.safe_load((DEVICE / "zephyr" / "module.yml").read_text())
    assert set(module) <= {"name", "build"}
    assert (DEVICE / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (DEVICE / module["build"]["kconfig"]).is_file()


def test_west_takes_the_zephyr_module_into_a_workspace(tmp_path):
    """As an application does: a manifest that names the module, ``west update``, and the module is there."""
    pytest.importorskip("west")
    module = tmp_path / "origin"
    shutil.copytree(DEVICE, module)
    quiet = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*quiet, "commit", "-q", "-m", "module"]):
        subprocess.run(["git", *words], cwd=module, check=True)
    application = tmp_path / "workspace" / "application"
    application.mkdir(parents=True)
    project = {"name": "sefr", "url": module.as_uri(), "revision": "main", "path": "modules/sefr"}
    (application / "west.yml").write_text(
        yaml.safe_dump({"manifest": {"projects": [project], "self": {"path": "application"}}})
    )
    found = [
        subprocess.run(
            [sys.executable, "-m", "west", *words],
            cwd=application,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "GIT_ALLOW_PROTOCOL": "file"},
        ).stdout
        for words in (
            ["init", "-l", "."],
            ["manifest", "--validate"],
            ["update"],
            ["list", "-f", "{abspath}"],
        )
    ]
    folder = Path(found[-1].split()[-1])
    assert (folder / "zephyr" / "module.yml").read_text() == (DEVICE / "zephyr" / "module.yml").read_text()
    sources = re.search(r"zephyr_library_sources\((.*)\)", (folder / "zephyr/CMakeLists.txt").read_text())[1]
    assert all((folder / "zephyr" / source).resolve().is_file() for source in sources.split())


def test_the_cmake_target(tmp_path):
    """A project that adds the folder gets the header and the library, with its own settings."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(app C)\n"
        f'add_subdirectory("{DEVICE}" sefr)\ntarget_compile_definitions(sefr PUBLIC SEFR_SUM_BITS=32)\n'
        "add_executable(app app.c)\ntarget_link_libraries(app PRIVATE sefr)\n"
    )
    (tmp_path / "app.c").write_text(
        "#include <sefr.h>\nSEFR_MODEL(model, 3, 2)\n"
        "int main(void) { return sefr_reset(&model) + sizeof(sefr_sum) - 4; }\n"
    )
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"], ["build/app"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def settings_by_kconfig(chosen, folder):
    """Return the lines of a .config that the menu's choices make."""
    import kconfiglib

    (folder / "Kconfig").write_text(f'rsource "{os.path.relpath(DEVICE / "zephyr" / "Kconfig", folder)}"\n')
    menu = kconfiglib.Kconfig(str(folder / "Kconfig"), warn_to_stderr=False)
    for name in ("SEFR", *chosen):
        assert menu.syms[name].set_value(2), name
    assert menu.warnings == []
    menu.write_config(str(folder / "config"))
    lines = (folder / "config").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line.startswith("CONFIG_"))


def test_the_menus_offer_every_setting_and_switch(tmp_path):
    """Of ESP-IDF and Zephyr: what sefr.h names, in Kconfig and in settings.cmake."""
    pytest.importorskip("kconfiglib")
    header = (DEVICE / "src" / "sefr.h").read_text()
    switches = re.findall(r"^ \*   (SEFR_(?:NO_|TWO_|PORTABLE)\w*)", header, re.M)
    assert len(switches) == 10
    switches.remove("SEFR_NO_SPARSE")  # an AVR's
    found = settings_by_kconfig(switches, tmp_path)
    assert {f"CONFIG_{name}" for name in switches} <= set(found)
    cmake = (DEVICE / "settings.cmake").read_text()
    assert all(name.removeprefix("SEFR_") in cmake for name in switches)


def test_esp_idf_reads_the_same_menu(tmp_path, monkeypatch):
    """By ESP-IDF's own reader of Kconfig, which is not Zephyr's."""
    reader = pytest.importorskip("esp_kconfiglib.core")
    monkeypatch.setenv("KCONFIG_REPORT_VERBOSITY", "quiet")
    menu = reader.Kconfig(str(DEVICE / "Kconfig"))
    menu.syms["SEFR_SUM_32"].set_value(2)
    assert menu.syms["SEFR_SUM_BITS"].str_value == "32"
    assert menu.syms["SEFR_WEIGHT_BITS"].str_value == "8"


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ((), "sizeof(sefr_weight) == 1 && sizeof(sefr_sum) == 2 && SEFR_BINS == 0"),
        (("SEFR_WEIGHT_16", "SEFR_SUM_32"), "sizeof(sefr_weight) == 2 && sizeof(sefr_sum) == 4"),
        (("SEFR_BIN_16", "SEFR_TWO_CLASSES"), "SEFR_BINS == 16 && SEFR_MAX_CLASSES == 2"),
        (("SEFR_MOMENT_64",), "sizeof(sefr_moment) == 8"),
    ],
)
def test_a_choice_of_the_menu_reaches_the_library_and_its_users(chosen, expected, tmp_path):
    pytest.importorskip("kconfiglib")
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    found = settings_by_kconfig(chosen, tmp_path)
    lines = "".join(f"set({name} {value})\n" for name, value in found.items())
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.16)\nproject(app C)\n{lines}"
        f'include("{DEVICE}/settings.cmake")\nsefr_settings(settings)\nadd_subdirectory("{DEVICE}" sefr)\n'
        "target_compile_definitions(sefr PUBLIC ${settings})\n"
        "add_executable(app app.c)\ntarget_link_libraries(app PRIVATE sefr)\n"
    )
    (tmp_path / "app.c").write_text(
        "#include <sefr_moments.h>\nSEFR_MODEL(model, 3, 2)\n"
        f"int main(void) {{ return sefr_reset(&model) + !({expected}); }}\n"
    )
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"], ["build/app"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
