"""The artefact: a folder with a manifest, arrays and graphs; written so that it is always whole.

Files carry a piece of their checksum in their names, and the manifest, which names them, is replaced in one step: a
save that is killed leaves the old policy, and one that ends leaves the new. What is inside a part is the part's own
business: here states are laid flat into files, and files are read back into states.
"""

import contextlib
import hashlib
import json
import platform
import re
from collections.abc import Collection, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from askwho import _validation as check
from askwho._files import write_atomically
from askwho._parts import State, read_part, state_of
from askwho._processes import is_first
from askwho.exceptions import AskwhoError, InvalidInputError
from askwho.policy import Policy

FORMAT = 3
"""Of the manifest: another one is refused."""
# The one file whose replacing makes a save: it names all others.
_MANIFEST = "manifest.json"
# One file for the arrays of all parts, each under its part's path.
_ARRAYS = "arrays.safetensors"
# What a manifest may name: a file of its own folder, never a path that leads elsewhere.
_NAME = re.compile(r"^[a-z0-9-]+\.[0-9a-f]{16}\.(safetensors|onnx)$")
# A file of some save, or what a killed one has left of it.
_LEFT = re.compile(r"^[a-z0-9-]+\.[0-9a-f]{16}\.(safetensors|onnx)$|^\..+\.[0-9]+\.partial$")


def save(policy: Policy, folder: str | Path) -> None:
    """Write a policy into a folder, which then holds this policy alone; under `torchrun` the first process does.

    Args:
        policy: fitted, calibrated or loaded; a learner, an encoder or a committee of your own must be importable, and
            have `to_state` and `from_state` or be a function.
        folder: made if it is not there; an artefact in it is replaced, whole or not at all.
    """
    if not is_first():
        return
    place = room_for(folder)
    state = state_of(policy, "policy")
    payload = _payload(state)
    libraries = ("numpy", "scikit-learn", "onnxruntime")
    plain = {
        "policy": _plain(state),
        "validated": policy.tried.told(policy.unit),
        "provenance": {
            "askwho": version("askwho"),
            "python": platform.python_version(),
            **{name: version(name) for name in libraries},
        },
    }
    fresh = [path for path in (place, *place.parents) if not path.exists()]
    try:
        place.mkdir(parents=True, exist_ok=True)
        kept = _write(place, payload, plain)
    except OSError as error:
        with contextlib.suppress(OSError, InvalidInputError):
            _sweep(place, _named(place))
            for path in fresh:
                path.rmdir()
        reason = error.strerror or type(error).__name__
        raise InvalidInputError(f"`folder` must be writable, got {str(place)!r}: {reason}.") from None
    _sweep(place, kept)


def room_for(folder: str | Path) -> Path:
    """Return the path of a folder that an artefact may be written into, or say why it may not."""
    place = Path(folder)
    if not is_first():
        # What the first process writes must not be in the way of those that come here later.
        return place
    try:
        if place.exists() and not place.is_dir():
            raise InvalidInputError(f"`folder` must be a folder, got {str(place)!r}: there is a file of that name.")
        ours = place.is_dir() and (place / _MANIFEST).exists()
        # What a save that was killed leaves behind is ours too.
        if place.is_dir() and not ours and any(not _LEFT.match(path.name) for path in place.iterdir()):
            raise InvalidInputError(
                f"`folder` must be empty or hold an artefact, got {str(place)!r}, which holds other files."
            )
    except OSError as error:
        raise InvalidInputError(f"`folder` must be writable, got {str(place)!r}: {error.strerror}.") from None
    return place


def _payload(state: State) -> dict[str, bytes]:
    """The files of a state and of those inside it: all arrays in one, graphs in one each."""
    arrays: dict[str, np.ndarray] = {}
    payload: dict[str, bytes] = {}
    for path, inside in state.walk():
        # Said before anything is written: a part may be the user's own.
        try:
            json.dumps(inside.plain)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"`plain` of the part {path!r} must be JSON to be saved: {error}.") from None
        for name, given in inside.arrays.items():
            array = np.asarray(given, order="C")
            if array.dtype.kind not in "biuf":
                raise InvalidInputError(
                    f"`arrays` of the part {path!r} must hold numbers to be saved, got {array.dtype} in {name!r}: put "
                    "texts into `plain`."
                )
            arrays[f"{path}/{name}"] = array
        payload |= {f"{path}/{name}.onnx": graph for name, graph in inside.graphs.items()}
    return payload | {_ARRAYS: save_arrays(arrays)}


def _write(place: Path, payload: Mapping[str, bytes], plain: Mapping[str, Any]) -> set[str]:
    """Write the files and then the manifest that names them; return their names."""
    files: dict[str, dict[str, str]] = {}
    for name, data in payload.items():
        digest = hashlib.sha256(data).hexdigest()
        stem, suffix = name.rsplit(".", 1)
        stem = re.sub("[^a-z0-9]+", "-", stem.lower()).strip("-")
        stored = f"{stem}.{digest[:16]}.{suffix}"
        write_atomically(place / stored, data)
        files[name] = {"file": stored, "sha256": digest}
    manifest = {"format": FORMAT, "files": files, **plain}
    manifest["checksum"] = _checksum(manifest)
    write_atomically(place / _MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False).encode())
    return {entry["file"] for entry in files.values()}


def _named(place: Path) -> set[str]:
    """The files that the manifest in a folder names."""
    if not (place / _MANIFEST).exists():
        return set()
    return {str(entry["file"]) for entry in _read_manifest(place)["files"].values()}


def _sweep(place: Path, kept: set[str]) -> None:
    """Remove what this or another save has written into a folder, but for the files that are kept."""
    for path in place.iterdir():
        if path.name not in kept and _LEFT.match(path.name):
            path.unlink()


def load(folder: str | Path, *, allow: Collection[str] = ()) -> Policy:
    """Return the policy in a folder; it decides through ONNX Runtime and never imports torch.

    A damaged, edited or newer artefact is refused with the reason.

    Args:
        folder: as `save` wrote it.
        allow: which parts of your own may be imported, such as `"mypackage:MyLearner"`: an artefact alone never runs
            code. Those that an installed package names in its entry points (`askwho.parts`) are allowed already.
    """
    place = Path(folder)
    manifest = _read_manifest(place)
    try:
        arrays: dict[str, np.ndarray] = {}
        graphs: dict[str, bytes] = {}
        for name, entry in manifest["files"].items():
            data = _read_file(place, entry)
            if name == _ARRAYS:
                arrays = load_arrays(data)
            else:
                graphs[name] = data
        state = _state(manifest["policy"], "", arrays, graphs)
        state.allow = (allow,) if isinstance(allow, str) else tuple(allow)
        check.one_of(state.kind, "kind", ["policy"])
        policy: Policy = read_part(state)
    except AskwhoError:
        raise
    # ONNX Runtime's errors have no class in common, and whatever a forged part brings about is damage.
    except Exception as error:  # noqa: BLE001
        raise InvalidInputError(f"The artefact in {str(place)!r} is damaged: {type(error).__name__} {error}.") from None
    return policy


def digest(folder: str | Path) -> str:
    """Return the checksum of the artefact in a folder, which changes with anything in it."""
    return _checksum(_read_manifest(Path(folder)))


def _plain(state: State) -> dict[str, Any]:
    """A state and those inside it as JSON; arrays and graphs lie in files of their own."""
    return {
        "kind": state.kind,
        "plain": state.plain,
        "parts": {name: _plain(inside) for name, inside in state.parts.items()},
    }


def _state(plain: Mapping[str, Any], path: str, arrays: Mapping[str, np.ndarray], graphs: Mapping[str, bytes]) -> State:
    """The state that `_plain`, arrays and graphs were made of."""
    mine, whole = f"{path}/", f"{path}." if path else ""
    return State(
        plain["kind"],
        dict(plain["plain"]),
        {name.removeprefix(mine): array for name, array in arrays.items() if name.startswith(mine)},
        {
            name.removeprefix(mine).removesuffix(".onnx"): graph
            for name, graph in graphs.items()
            if name.startswith(mine)
        },
        {name: _state(inside, f"{whole}{name}", arrays, graphs) for name, inside in plain["parts"].items()},
    )


def _read_manifest(place: Path) -> dict[str, Any]:
    path = place / _MANIFEST
    if not path.is_file():
        raise InvalidInputError(f"`folder` must hold an artefact, got {str(place)!r}: there is no {_MANIFEST} in it.")
    try:
        manifest = json.loads(path.read_bytes(), object_pairs_hook=partial(check.once, name="manifest"))
    except (ValueError, OSError, RecursionError):
        raise InvalidInputError(f"The artefact in {str(place)!r} is damaged: its {_MANIFEST} is no JSON.") from None
    named = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(named, int) or isinstance(named, bool):
        raise InvalidInputError(f"The artefact in {str(place)!r} is damaged: its {_MANIFEST} names no format.")
    if named != FORMAT:
        newer = named > FORMAT
        raise InvalidInputError(
            f"The artefact in {str(place)!r} is of format {named}, "
            + (f"newer than {FORMAT}: update askwho." if newer else f"older than {FORMAT}: fit and save it again.")
        )
    if manifest.pop("checksum", None) != _checksum(manifest):
        raise InvalidInputError(
            f"The artefact in {str(place)!r} was edited: its {_MANIFEST} does not match its checksum."
        )
    return manifest


def _read_file(place: Path, entry: Mapping[str, str]) -> bytes:
    name = entry["file"]
    # A name from a file is never trusted with a path.
    if not _NAME.match(name):
        raise InvalidInputError(f"The artefact in {str(place)!r} is damaged: it names the file {name!r}.")
    try:
        data = (place / name).read_bytes()
    except OSError:
        raise InvalidInputError(f"The artefact in {str(place)!r} is damaged: {name} cannot be read.") from None
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise InvalidInputError(f"The artefact in {str(place)!r} is damaged: {name} does not match its checksum.")
    return data


def _checksum(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
