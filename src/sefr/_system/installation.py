"""What to type to install what an extra of this distribution brings.

The distribution is not on PyPI, so ``pip install`` of its name would find nothing. Messages name the packages
themselves, which pip finds however this package was installed.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires

NAME = "sefr-learn"
IN_THE_SOURCE = "in the folder of sefr's source"
_REQUIREMENT = re.compile(r"""^([^;]+?)\s*;.*\bextra\s*==\s*['"]([^'"]+)['"]""")
_OWN = re.compile(rf"^{NAME}\[([^\]]+)\]$")


def install_line(extra: str) -> str:
    """Return the line that installs the packages of an extra.

    Examples
    --------
    >>> install_line("device")
    "pip install 'jinja2>=3.1'"
    """
    packages = _packages(extra)
    if not packages:
        return f"pip install '.[{extra}]' {IN_THE_SOURCE}"
    return "pip install " + " ".join(f"'{package}'" for package in packages)


def _packages(extra: str) -> list[str]:
    """Return the requirements of an extra and of the extras that it names; none if nothing is known."""
    try:
        found = [_REQUIREMENT.match(line) for line in requires(NAME) or ()]
    except PackageNotFoundError:
        return []
    packages: list[str] = []
    for match in found:
        if match is None or match[2] != extra:
            continue
        own = _OWN.match(match[1].replace(" ", ""))
        more = [p for other in own[1].split(",") for p in _packages(other)] if own else [match[1]]
        packages += [package for package in more if package not in packages]
    return packages
