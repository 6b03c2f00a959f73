"""Tests; `check` is the type checker that the import hook puts around every function of the package."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
"""An int is accepted where a float is meant, as Python itself does."""
