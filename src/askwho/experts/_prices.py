"""What tokens cost: prices by a million of them, stated or looked up by the model's name."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import Any, Protocol, runtime_checkable

from askwho._money import NANOS, nanos
from askwho.exceptions import InvalidInputError, missing_dependency

# Prices are said of so many tokens everywhere.
_TOKENS = 1_000_000


@dataclass(frozen=True)
class Usage:
    """What a reply says that it used.

    Args:
        input: tokens of the prompt, those of a cache among them.
        output: tokens of what was written, and of what was thought before it.
        cached: tokens of the prompt that a cache had.
    """

    input: int
    output: int
    cached: int = 0


@runtime_checkable
class Prices(Protocol):
    """From tokens to nanos."""

    def charge(self, usage: Usage) -> int:
        """Return what was charged for them, in nanos."""
        ...

    def most(self, usage: Usage) -> int:
        """Return what can be charged for so many at the most, in nanos."""
        ...


@dataclass(frozen=True)
class Stated:
    """Prices of a million tokens, as somebody wrote them down.

    Args:
        input: of a million tokens of the prompt.
        output: of a million tokens that are written.
        cached: of a million tokens of the prompt that a cache has; as any other, unless said.
        call: what each call costs beside.
    """

    input: Decimal
    output: Decimal
    cached: Decimal | None = None
    call: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        for price in (self.input, self.output, self.cached, self.call):
            if price is not None:
                nanos(price)

    def charge(self, usage: Usage) -> int:
        """Return what was charged for them, in nanos, halves upwards."""
        cached = self.input if self.cached is None else self.cached
        prompt = (usage.input - usage.cached) * self.input + usage.cached * cached
        return int(self._exact(prompt, usage.output).to_integral_value(ROUND_HALF_UP))

    def most(self, usage: Usage) -> int:
        """Return what can be charged for so many at the most: nothing from a cache, and upwards."""
        dearest = max(self.input, self.cached or self.input)
        return int(self._exact(usage.input * dearest, usage.output).to_integral_value(ROUND_CEILING))

    def _exact(self, prompt: Decimal, output: int) -> Decimal:
        """What is charged in all, in nanos, by what a million times the prompt costs."""
        return (prompt + output * self.output) * NANOS / _TOKENS + self.call * NANOS


@dataclass(frozen=True)
class LookedUp:
    """Prices by the model's name, as genai-prices knows them.

    Args:
        model: its name.
        provider: whose, where several have it.
    """

    model: str
    provider: str | None = None

    def __post_init__(self) -> None:
        self.charge(Usage(1, 1))

    def charge(self, usage: Usage) -> int:
        """Return what was charged for them, in nanos."""
        return nanos(self._total(usage))

    def most(self, usage: Usage) -> int:
        """Return what can be charged for so many at the most: nothing from a cache, and a nano for rounding."""
        return nanos(self._total(Usage(usage.input, usage.output))) + 1

    def _total(self, usage: Usage) -> Decimal:
        try:
            import genai_prices  # noqa: PLC0415 - an extra
        except ImportError:
            raise missing_dependency("Looking up prices by a model's name", "genai-prices", "live") from None
        used: Any = genai_prices.Usage(
            input_tokens=usage.input, output_tokens=usage.output, cache_read_tokens=usage.cached or None
        )
        try:
            return Decimal(genai_prices.calc_price(used, self.model, provider_id=self.provider).total_price)
        except LookupError:
            of = "" if self.provider is None else f" of {self.provider!r}"
            raise InvalidInputError(
                f"`model` must be one whose prices are known, got {self.model!r}{of}: state its `price`."
            ) from None
