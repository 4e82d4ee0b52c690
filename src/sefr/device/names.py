"""The one door for foreign text into generated C: names become identifiers, labels become text.

Whatever a user, a file or an adversary calls a model, a class or a feature, what leaves here is an
identifier that collides with nothing, or characters that mean nothing to a C compiler in a comment or a
string.
"""

from __future__ import annotations

import keyword
import re
import string
from collections.abc import Iterable
from itertools import islice

# Without * / \ " ' ? % < > # { } [ ]: no comment, string, trigraph, digraph or directive begins or ends.
PLAIN = frozenset((string.ascii_letters + string.digits + " _.,:;+-=()").encode())
ON_A_LINE = 20  # numbers of a table
LONGEST = 40  # characters of an identifier; file systems take 255, C99 promises 63
_C = """auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
while"""
_CPP = """alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t class compl concept
const_cast constexpr decltype delete dynamic_cast explicit export false friend mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires
static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t
xor xor_eq"""
# A header of one of these names would hide the compiler's, the core's or the library's on an include path.
_HEADERS = """arduino assert avr binary cctype cdc client complex ctype eeprom errno fenv float hardwareserial
inttypes io ipaddress iso646 limits locale main math memory new pgmspace pins_arduino pluggableusb print
printable server setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn stream
string strings tgmath threads time udp unistd usbapi usbcore usbdesc util wchar wctype wiring_private wire spi
wstring windows"""
RESERVED = frozenset(f"{_C} {_CPP} {_HEADERS}".split())
# A file of one of these names would hide what it imports, or what a board imports at its start.
_MODULES = """array asyncio binascii board boot builtins code collections digitalio errno gc hashlib heapq io
json machine main math microcontroller micropython network os random re select socket struct sys time"""
MODULES = frozenset(_MODULES.split())
OWNED = ("sefr", "pgm", "eeprom")  # names that begin so are the library's or avr-libc's: eeprom_read_byte


def identifier(text: object) -> str:
    """Return a C identifier that resembles the text, free for a file and as the beginning of names.

    Generated code adds a suffix to it always, so that ``setup`` or ``Serial`` collide with nothing; what the
    library, the language or a header may own gets ``model_`` before it.
    """
    free = word(text)
    taken = not free or free[0].isdigit() or free.lower() in RESERVED or free.lower().startswith(OWNED)
    return f"model_{free}".rstrip("_") if taken else free


def module_name(text: object) -> str:
    """Return a name for a file of Python: an identifier that no keyword and no module of MicroPython has."""
    name = identifier(text)
    return f"model_{name}" if keyword.iskeyword(name) or name.lower() in MODULES else name


def file_name(text: object, target: str) -> str:
    """Return what ``export`` calls the file or, for a sketch, the folder of a model.

    Examples
    --------
    >>> from sefr.device.names import file_name
    >>> file_name("room 1", "c"), file_name("machine", "micropython")
    ('room_1.h', 'model_machine.py')
    """
    if target == "micropython":
        return f"{module_name(text)}.py"
    return identifier(text) if target == "arduino" else f"{identifier(text)}.h"


def word(text: object) -> str:
    """Return letters, digits and single underscores that resemble the text: a part of an identifier."""
    return re.sub(r"[^A-Za-z0-9]+", "_", str(text))[:LONGEST].strip("_")


def c_text(text: object) -> str:
    r"""Return text for a comment or a string of C: plain characters, and ``\NNN`` for every other byte.

    As a string it reads back to the same UTF-8; control characters become question marks, since a board
    writes such text to terminals.
    """
    shown = "".join(char if char.isprintable() or "\ud800" <= char <= "\udfff" else "?" for char in str(text))
    return "".join(chr(b) if b in PLAIN else f"\\{b:03o}" for b in shown.encode("utf-8", "replace"))


def distinct(words: Iterable[str]) -> list[str]:
    """Return the words with numbers added where one occurs again."""
    seen: set[str] = set()
    result = []
    for word in words:
        candidate, n = word, 1
        while candidate in seen:
            n += 1
            candidate = f"{word}_{n}"
        seen.add(candidate)
        result.append(candidate)
    return result


def literal(value: int, wide: bool) -> str:
    """Return a C literal of 32 bits or, if ``wide``, 64; the lowest number of a type has none of its own."""
    suffix = "LL" if wide else "L"
    lowest = -(1 << (63 if wide else 31))
    return f"(-{-(value + 1)}{suffix} - 1)" if value == lowest else f"{value}{suffix}"


def c_rows(literals: Iterable[str]) -> str:
    """Return literals as the lines of a table."""
    left, rows = iter(literals), []
    while row := list(islice(left, ON_A_LINE)):
        rows.append(f"    {', '.join(row)},\n")
    return "".join(rows)
