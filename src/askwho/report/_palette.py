"""The colours of page and figures: a name, its light value and its dark one."""

PALETTE = {
    "page": ("#f7f8fa", "#12151b"),
    "surface": ("#ffffff", "#1a1f27"),
    "ink": ("#1b2430", "#e4e9f0"),
    "muted": ("#5c6878", "#9aa7b8"),
    "line": ("#dfe3e9", "#303845"),
    "accent": ("#1d5fc4", "#74aaf7"),
    "warm": ("#b8500f", "#f0a063"),
    "good": ("#24764f", "#6cc79b"),
    "bad": ("#b3261e", "#f2958d"),
}
"""Light values are what figures are drawn in, each different from every other, so that a page can put its own there."""

# What figures are drawn in, by name.
LIGHT = {name: light for name, (light, _) in PALETTE.items()}


def variables() -> str:
    """Return the colours as variables of a style sheet, light and dark."""

    def block(which: int) -> str:
        return ":root{" + ";".join(f"--{name}:{pair[which]}" for name, pair in PALETTE.items()) + "}"

    return f"{block(0)}\n@media (prefers-color-scheme:dark){{{block(1)}}}"


def by_value() -> dict[str, str]:
    """Return from each light value to its variable."""
    return {light: f"var(--{name})" for name, light in LIGHT.items()}
