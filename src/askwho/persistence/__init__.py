"""Policies as folders: a manifest, arrays and graphs, no pickle; whole or not there at all."""

from askwho.persistence._artefact import FORMAT, digest, load, room_for, save

__all__ = ["FORMAT", "digest", "load", "room_for", "save"]
