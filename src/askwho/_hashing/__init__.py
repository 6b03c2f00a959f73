"""Texts as counts of hashed words and characters."""

from askwho._hashing._counts import hashed_both, hashed_characters, hashed_words

__all__ = ["hashed_both", "hashed_characters", "hashed_words"]
