"""Where a study came from: see `askwho._provenance`."""

from askwho._provenance import provenance

__all__ = ["provenance"]
