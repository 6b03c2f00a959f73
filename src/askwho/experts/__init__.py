"""Experts: sources of answers, each behind one async method, with a fee, limits, and ways to fail."""

from askwho.experts._expert import Charged, Expert, ExpertError, Limits, Question, Reply, limits_of, worst_of
from askwho.experts._fake import Fake, Said
from askwho.experts._http import Http
from askwho.experts._network import Endpoint
from askwho.experts._onnx import Onnx
from askwho.experts._openai import Chat, OpenAI
from askwho.experts._parsing import Parse, Parsed
from askwho.experts._prices import LookedUp, Prices, Stated, Usage
from askwho.experts._python import Python, function_of
from askwho.experts._reading import read_experts
from askwho.experts._recorded import Recorded
from askwho.experts._secrets import Secret
from askwho.experts._templates import at_path

__all__ = [
    "Charged",
    "Chat",
    "Endpoint",
    "Expert",
    "ExpertError",
    "Fake",
    "Http",
    "Limits",
    "LookedUp",
    "Onnx",
    "OpenAI",
    "Parse",
    "Parsed",
    "Prices",
    "Python",
    "Question",
    "Recorded",
    "Reply",
    "Said",
    "Secret",
    "Stated",
    "Usage",
    "at_path",
    "function_of",
    "limits_of",
    "read_experts",
    "worst_of",
]
