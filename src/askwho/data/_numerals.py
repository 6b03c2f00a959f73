r"""Texts that are numbers, however they are written: 1,234.50, $0.5, 1/2, \frac{1}{2}, 50%, 1e3, \boxed{7}."""

import re
import unicodedata
from fractions import Fraction

# A number is short: on long texts nothing is looked for, and no power of ten fills the memory.
_LONGEST, _LARGEST_POWER = 200, 999
# Longer texts are not undressed, but for a box in them: they are no short answer, and patterns would take for ever.
_LONGEST_DRESSED = 1000
# A decimal of more digits is written as a power of ten: keys stay short.
_MOST_DIGITS = 40
# What Unicode calls compatible and is another number: 5² is not 52, and 3½ not 31/2.
_APART = ("<super>", "<sub>", "<fraction>")
# How a minus is written where a keyboard has none of its own: as a sign, as a dash.
_MINUS = str.maketrans(dict.fromkeys("\u2212\u2013\u2012\ufe63\uff0d", "-"))
# LaTeX that changes how a number looks and not what it is.
_LOOKS = re.compile(r"\\(?:(?:left|right|displaystyle)(?![a-z])|[!,;:>()\[\]])|\{(?=,\})|(?<=\{,)\}")
# Words in upright letters, and numbers too; what is in them may have braces of its own, as a fraction has.
_WRAPPED = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mathit|mbox|rm|bf)\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
# Fractions in display, text and continued size are fractions.
_FRACTION = re.compile(r"\\[dtc]frac(?![a-z])")
# Where models are told to put what they finally say.
_BOX = re.compile(r"\\f?boxed?\s*\{")
# The same number with and without the sign of its unit, before it or behind it; per cent is one of them.
_UNITS = re.compile(r"^([-+]?)\s*(?:\\?\$|[€£¥])\s*|\s*(?:\\?[$%]|[€£¥°]|\^\{?\\circ\}?)$")
# Behind the last sign of equality stands what it comes to, unless it is one of several, or a bound.
_SEVERAL = re.compile(r"[,;]|\b(?:or|and)\b|[<>!~:≠≤≥≈]\s*$")
# Thousands are parted whole or not at all: 1,234 is a number, and 1,23 and 0,123 are lists or decimals of elsewhere.
_DIGITS = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)"
# Digits before the point or behind it, of which some may be missing.
_DECIMAL = rf"(?:{_DIGITS}(?:\.[0-9]*)?|\.[0-9]+)"
# Of ten, as a computer writes it or as a person does.
_POWER = r"(?:e([-+]?[0-9]+)|\s*(?:x|\*|×|·|\\times|\\cdot)\s*10\^(?:\{([-+]?[0-9]+)\}|([-+]?[0-9]+)))?"
# A decimal with its sign and its power.
_PLAIN = re.compile(rf"([-+]?)\s*({_DECIMAL}){_POWER}", re.ASCII)
# Within braces a minus stands where it stands.
_SIGNED = rf"[-+]?{_DECIMAL}"
# One number by another, a whole number before it apart: 1 1/2 is 1.5.
_RATIO = re.compile(rf"([-+]?)\s*(?:([0-9]+)\s+)?({_DECIMAL})\s*[/\u2044]\s*({_DECIMAL})", re.ASCII)
# The same in LaTeX, where a single digit needs no braces.
_FRAC = re.compile(
    rf"([-+]?)\s*([0-9]*)\s*\\frac\s*(?:\{{\s*({_SIGNED})\s*\}}|([0-9]))\s*(?:\{{\s*({_SIGNED})\s*\}}|([0-9]))",
    re.ASCII,
)


def folded(text: str) -> str:
    """Return a text without what is often lost: case, space at the ends, how much of it between, how letters are coded.

    >>> folded("  New   YORK ") == folded("new york"), folded("５ km") == folded("5 KM"), folded("5²") == folded("52")
    (True, True, False)
    """
    while True:
        plain = " ".join(_compatible(text).split()).casefold()
        # To fold a letter may make one that is coded otherwise.
        if plain == text or plain.isascii():
            return plain
        text = plain


def numeral(text: str) -> str:
    r"""Return a text's number in one way of writing; the text without LaTeX's looks, folded, where it is none.

    >>> [numeral(text) for text in ("1,234.50", "$0.5", r"\frac{1}{2}", "1/3", "50%", "1e3", r"\boxed{7}.", "x = 5")]
    ['1234.5', '0.5', '0.5', '1/3', '50', '1000', '7', '5']
    """
    plain = folded(text)
    while (bare := folded(_unwrapped(plain))) != plain:
        plain = bare
    number = number_in(plain)
    return plain if number is None else written(number)


def number_in(text: str) -> Fraction | None:
    """Return the number that a folded text is, exactly; None where it is none, or one too long to be worth it."""
    if not 0 < len(text) <= _LONGEST:
        return None
    head, _, text = text.rpartition("=")
    if _SEVERAL.search(head):
        return None
    text = "".join(map(_spread, text)).strip().translate(_MINUS)
    while (bare := _UNITS.sub(r"\1", text)) != text:
        text = bare
    if found := _PLAIN.fullmatch(text):
        sign, digits, *powers = found.groups()
        power = int(next(filter(None, powers), "0"))
        return None if abs(power) > _LARGEST_POWER else _signed(sign, _decimal(digits) * Fraction(10) ** power)
    if found := _RATIO.fullmatch(text):
        sign, whole, above, below = found.groups()
        return _mixed(sign, whole, above, below)
    if found := _FRAC.fullmatch(text):
        sign, whole, *parts = found.groups()
        above, below = (first or second for first, second in (parts[:2], parts[2:]))
        return _mixed(sign, whole, above, below)
    return None


def written(number: Fraction) -> str:
    """Return the one way in which a number is written here: a decimal where it ends, else a ratio in lowest terms."""
    below, twos, fives = number.denominator, 0, 0
    while below % 2 == 0:
        below, twos = below // 2, twos + 1
    while below % 5 == 0:
        below, fives = below // 5, fives + 1
    if below > 1:
        return f"{number.numerator}/{number.denominator}"
    places = max(twos, fives)
    digits, sign = str(abs(number.numerator) * 10**places // number.denominator), "-" if number < 0 else ""
    short = digits.rstrip("0")
    power = len(digits) - len(short) - places
    if power and max(len(digits), places) > _MOST_DIGITS:
        return f"{sign}{short}e{power}"
    digits = digits.rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def _compatible(text: str) -> str:
    """The text in Unicode's compatible form, but for what would be another number."""
    if text.isascii():
        return text
    letters = (
        letter if unicodedata.decomposition(letter).startswith(_APART) else unicodedata.normalize("NFKC", letter)
        for letter in text
    )
    return unicodedata.normalize("NFC", "".join(letters))


def _spread(letter: str) -> str:
    """A letter that is a fraction, such as ½, as what it is made of, apart from a whole number before it."""
    if letter.isascii() or not unicodedata.decomposition(letter).startswith("<fraction>"):
        return letter
    return f" {unicodedata.normalize('NFKC', letter)}"


def _unwrapped(text: str) -> str:
    """What is in the last box, if there is one, without what LaTeX and Markdown put around it and a full stop."""
    boxes = list(_BOX.finditer(text))
    if boxes:
        text = _inside(text, boxes[-1].end())
    if len(text) > _LONGEST_DRESSED:
        return text
    text = _WRAPPED.sub(r"\1", _FRACTION.sub(r"\\frac", _LOOKS.sub("", text)))
    text = text.strip().strip("*`").removesuffix(".").strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "$" else text


def _inside(text: str, start: int) -> str:
    """What stands up to the brace that closes the one before; all of it, where none does."""
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if not depth:
            return text[start:place]
    return text[start:]


def _decimal(digits: str) -> Fraction:
    whole, _, rest = digits.replace(",", "").lstrip("+-").partition(".")
    return _signed(digits[:1], Fraction(int((whole + rest) or "0"), 10 ** len(rest)))


def _mixed(sign: str, whole: str | None, above: str, below: str) -> Fraction | None:
    """A ratio, and the whole number before it; None where nothing can be shared out."""
    bottom = _decimal(below)
    if not bottom or (whole and above[:1] in "+-"):
        return None
    return _signed(sign, int(whole or "0") + _decimal(above) / bottom)


def _signed(sign: str, number: Fraction) -> Fraction:
    return -number if sign == "-" else number
