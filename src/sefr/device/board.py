"""Simulated boards: build a C program for a microcontroller and run it in a simulator.

A board is a compiler with flags and a runner: simavr, which counts the cycles of an AVR exactly; QEMU, which
counts the instructions of Cortex-M and RISC-V but knows nothing of cycles; or the host itself.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import stat
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).parent / "boards"
CYCLE_LIMIT = 20_000_000_000
WALL_LIMIT = 600  # seconds; a run of the tests takes well below one
FREESTANDING = ("-ffreestanding", "-fno-tree-loop-distribute-patterns")  # no call of a libc that is not there


class ToolMissingError(RuntimeError):
    """A compiler or simulator is not installed.

    Examples
    --------
    >>> from sefr import SEFRClassifier
    >>> from sefr.device import ToolMissingError, simulate
    >>> clf = SEFRClassifier().fit([[1, 8], [3, 6]], ["dry", "wet"])
    >>> try:
    ...     answers = simulate(clf, [[1, 8]], board="uno").predictions.tolist()
    ... except ToolMissingError as missing:  # it names the packages of Debian
    ...     answers = ["dry"] if "gcc-avr" in str(missing) else []
    >>> answers
    ['dry']
    """


class BuildError(RuntimeError):
    """A program did not compile or does not fit the board.

    Examples
    --------
    >>> import numpy as np
    >>> from sefr import SEFRClassifier
    >>> from sefr.device import BuildError, simulate
    >>> wide = np.vstack([np.zeros(30_000), np.ones(30_000)])
    >>> try:  # doctest: +SKIP
    ...     simulate(SEFRClassifier().fit(wide, [0, 1]), wide, board="uno")
    ... except BuildError:
    ...     print("30,000 features do not fit an Uno")
    30,000 features do not fit an Uno
    """


@dataclass(frozen=True)
class Image:
    """A program built for a board: its file, and the bytes it takes of flash and of RAM before the stack."""

    path: Path
    flash: int
    data: int


@dataclass(frozen=True)
class Run:
    """What a program did: bytes written, the counter at each mark, the most bytes of RAM ever touched."""

    output: bytes
    marks: tuple[int, ...]
    sram: int


class Runner(Protocol):
    """What runs a program; ``counter`` says what its marks count.

    A new kind of simulator is one more of these, and a file in ``boards/`` that connects ``board.h`` to it.
    """

    @property
    def counter(self) -> str:
        """What the marks of a run count."""

    def run(self, board: Board, image: Image, folder: Path) -> Run:
        """Run an image whose input is the file ``input`` of a folder of its own."""


@dataclass(frozen=True)
class Simavr:
    """AVR, by the name of the chip."""

    chip: str
    counter = "cycles"

    def run(self, board: Board, image: Image, folder: Path) -> Run:
        """Run in simavr."""
        runner, files = build_runner(HERE / "avr_runner.c"), [folder / "input", folder / "output"]
        command = [runner, image.path, self.chip, *files, CYCLE_LIMIT]
        report = _check([str(part) for part in command], "running in simavr").split()
        pairs = list(zip(report[::2], report[1::2], strict=True))
        marks = tuple(int(value) for key, value in pairs if key == "mark")
        return Run(files[1].read_bytes(), marks, int(dict(pairs)["sram"]))


@dataclass(frozen=True)
class Qemu:
    """A machine of QEMU, as ``-M`` names it, with further options."""

    program: str
    machine: str
    counter = "instructions"

    def run(self, board: Board, image: Image, folder: Path) -> Run:
        """Run in QEMU; files are read and written by semihosting."""
        quiet = ["-nographic", "-monitor", "none", "-serial", "none"]
        command = [_find(self.program, board.packages), "-M", *self.machine.split(), *quiet]
        command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(image.path)]
        _check(command, f"running {board.name} in QEMU", folder)
        words = (folder / "report").read_bytes()
        calibration, free, harness, *ticks = struct.unpack(f"<{len(words) // 4}I", words)
        passed, marks = 0, []
        for before, now in zip([ticks[0] if ticks else 0, *ticks], ticks, strict=False):
            passed += (now - before) & 0xFFFFFFFF
            marks.append(round(passed * 65536 / calibration))
        return Run((folder / "output").read_bytes(), tuple(marks), board.ram - harness - free)


@dataclass(frozen=True)
class Host:
    """The machine that this runs on, with sanitizers; nothing is counted."""

    counter = "instructions"

    def run(self, board: Board, image: Image, folder: Path) -> Run:
        """Run as a program of its own."""
        data = (folder / "input").read_bytes()
        done = subprocess.run(  # noqa: S603
            [str(image.path)], input=data, capture_output=True, timeout=WALL_LIMIT, check=False
        )
        if done.returncode:
            raise RuntimeError(
                f"the program failed on the host: {done.stderr.decode(errors='replace')[-2000:]}"
            )
        return Run(done.stdout, (), 0)


@dataclass(frozen=True)
class Board:
    """A simulated board.

    Attributes
    ----------
    counter : "cycles" (exact) or "instructions".
    hertz : clock of the board, or None where a count of instructions says nothing about time.
    watts : power of the whole board, or None where no figure is published.
    cycle_joules : energy of the chip alone per cycle, by its data sheet; None where cycles are not counted.

    Examples
    --------
    >>> from sefr.device import BOARDS
    >>> uno = BOARDS["uno"]
    >>> uno.ram, uno.flash, uno.counter
    (2048, 32768, 'cycles')
    """

    name: str
    prefix: str
    flags: tuple[str, ...]
    runner: Runner
    ram: int
    flash: int
    packages: str
    hertz: float | None = None
    watts: float | None = None
    cycle_joules: float | None = None
    link: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    language: tuple[str, ...] = ("-std=c99",)

    @property
    def counter(self) -> str:
        """What the marks of a run count."""
        return self.runner.counter

    @property
    def has_assembly(self) -> bool:
        """Whether the device library has assembly in files of its own (``.S``) for it."""
        return isinstance(self.runner, Simavr)

    def tool(self, name: str) -> str:
        """Return the path of a compiler tool, e.g. ``gcc``."""
        return _find(self.prefix + name, self.packages)

    def build(
        self,
        sources: Sequence[Path],
        directory: Path,
        *,
        defines: Sequence[str] = (),
        includes: Sequence[Path] = (),
        optimise: str = "-Os",
        kernels: bool = True,
    ) -> Image:
        """Compile and link sources, with the board's own start-up code, into ``directory/program.elf``."""
        image = directory / "program.elf"
        flags = [*self.flags, *optimise.split(), *self.language, "-g0", "-I", str(HERE)]
        flags += ["-ffunction-sections", "-fdata-sections", "-Wall", "-Wextra", "-Werror"]
        flags += [f"-D{define}" for define in (*defines, *(() if kernels else ("SEFR_PORTABLE",)))]
        flags += [argument for folder in includes for argument in ("-I", str(folder))]
        objects = [
            self._compile(source, directory / f"{number}.o", flags)
            for number, source in enumerate([*(HERE / name for name in self.sources), *sources])
        ]
        command = [self.tool("gcc"), *self.flags, *optimise.split(), "-Wl,--gc-sections", *map(str, objects)]
        command += [flag.replace("@", str(HERE)) for flag in self.link]
        _check([*command, "-o", str(image)], f"building for {self.name}")
        return self._measure(image)

    def _compile(self, source: Path, to: Path, flags: Sequence[str]) -> Path:
        """Compile one source into an object file; return the file."""
        _check([self.tool("gcc"), *flags, "-c", str(source), "-o", str(to)], f"building for {self.name}")
        return to

    def _measure(self, image: Path) -> Image:
        listing = _check([self.tool("size"), "-A", "-d", str(image)], "measuring the program")
        lines = (line.split() for line in listing.splitlines() if line.startswith("."))
        sizes = {words[0]: int(words[1]) for words in lines}
        flash = sizes.get(".text", 0) + sizes.get(".data", 0)
        return Image(image, flash, sizes.get(".data", 0) + sizes.get(".bss", 0) + sizes.get(".noinit", 0))

    def run(self, image: Image, data: bytes = b"") -> Run:
        """Run a program to its end, feeding it ``data``."""
        with tempfile.TemporaryDirectory(prefix="sefr-run-") as name:
            (Path(name) / "input").write_bytes(data)
            return self.runner.run(self, image, Path(name))


def _find(program: str, packages: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise ToolMissingError(f"{program} is not installed; Debian packages: {packages} (make device-tools)")
    return path


def _check(command: Sequence[str], what: str, directory: Path | None = None) -> str:
    done = subprocess.run(  # noqa: S603
        list(command), capture_output=True, cwd=directory, timeout=WALL_LIMIT, check=False
    )
    if done.returncode:
        text = done.stderr.decode(errors="replace")
        raise BuildError(f"{what} failed with code {done.returncode}:\n{text[-4000:]}")
    return done.stdout.decode(errors="replace")


@functools.cache
def build_runner(path: Path) -> str:
    """Return a program that runs AVR code in simavr, from its source; compiled once per user and version."""
    name = path.stem
    packages = BOARDS["uno"].packages
    folder = _own_folder(f"sefr-avr-runner-{os.getuid()}")
    source = path.read_bytes()
    runner, text = folder / name, folder / f"{name}.c"
    if not (runner.exists() and text.exists() and text.read_bytes() == source):
        if not Path("/usr/include/simavr").exists():
            raise ToolMissingError(f"simavr's headers are not installed; Debian packages: {packages}")
        fresh = Path(tempfile.mkdtemp(dir=folder))
        (fresh / f"{name}.c").write_bytes(source)
        command = [_find("gcc", "gcc"), "-O2", str(fresh / f"{name}.c"), "-o", str(fresh / name)]
        _check([*command, "-lsimavr", "-l:libelf.so.1"], "building the simavr runner")
        os.replace(fresh / name, runner)
        os.replace(fresh / f"{name}.c", text)
        fresh.rmdir()
    return str(runner)


def _own_folder(name: str) -> Path:
    """Return a temporary folder that nobody else can write to: what lies in it will be executed."""
    folder = Path(tempfile.gettempdir()) / name
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
        return folder
    own = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


def _cortex(name: str, cpu: str, machine: str, flash: tuple[int, int], ram: tuple[int, int]) -> Board:
    return Board(
        name=name,
        prefix="arm-none-eabi-",
        flags=(f"-mcpu={cpu}", "-mthumb", *FREESTANDING),
        runner=Qemu("qemu-system-arm", f"{machine} -icount shift=5"),
        ram=ram[1],
        flash=flash[1],
        packages="gcc-arm-none-eabi qemu-system-arm",
        link=_image_link("reset", flash[0], ram),
        sources=("arm.c",),
    )


def _image_link(entry: str, flash: int, ram: tuple[int, int]) -> tuple[str, ...]:
    symbols = {"entry": entry, "flash_origin": flash, "ram_origin": ram[0], "ram_size": ram[1]}
    defined = tuple(f"-Wl,--defsym={key}={value}" for key, value in symbols.items())
    return ("-nostdlib", "-lgcc", "-Wl,--build-id=none", "-Wl,-T,@/image.ld", *defined)


BOARDS: dict[str, Board] = {
    board.name: board
    for board in (
        Board(
            name="uno",
            prefix="avr-",
            flags=("-mmcu=atmega328p", "-DF_CPU=16000000UL"),
            runner=Simavr("atmega328p"),
            ram=2048,
            flash=32768,
            packages="gcc-avr avr-libc simavr libsimavr-dev",
            hertz=16e6,
            watts=0.30,  # the paper's
            cycle_joules=5.2e-3 * 5 / 8e6,  # ATmega328P, active: typically 5.2 mA at 5 V and 8 MHz
            sources=("avr.c",),
        ),
        _cortex("cortex-m0", "cortex-m0", "microbit", (0, 256 << 10), (0x20000000, 16 << 10)),
        _cortex("cortex-m3", "cortex-m3", "stm32vldiscovery", (0x08000000, 128 << 10), (0x20000000, 8 << 10)),
        _cortex("cortex-m4", "cortex-m4", "mps2-an386", (0, 4 << 20), (0x20000000, 4 << 20)),
        Board(
            name="riscv32",
            prefix="riscv64-unknown-elf-",
            flags=("-misa-spec=2.2", "-march=rv32imac", "-mabi=ilp32", *FREESTANDING),
            runner=Qemu("qemu-system-riscv32", "virt -bios none -icount shift=0"),
            ram=4 << 20,
            flash=4 << 20,
            packages="gcc-riscv64-unknown-elf qemu-system-misc",
            link=_image_link("_start", 0x80000000, (0x80400000, 4 << 20)),
            sources=("riscv.c",),
        ),
        Board(
            name="host",
            prefix="",
            flags=("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
            runner=Host(),
            ram=1 << 30,
            flash=1 << 30,
            packages="gcc",
            sources=("host.c",),
        ),
    )
}
