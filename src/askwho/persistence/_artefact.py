"""The artefact: a folder with a manifest, arrays and graphs; written so that it is always whole.

Files carry a piece of their checksum in their names, and the manifest, which names them, is replaced in one step: a
save that is killed leaves the old policy, and one that ends leaves the new.
"""

import contextlib
import hashlib
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from askwho import _validation as check
from askwho._files import write_atomically
from askwho.data import Columns, FeatureEncoder
from askwho.exceptions import AskwhoError, InvalidInputError
from askwho.learners import Linear
from askwho.panel import Entity, Panel
from askwho.persistence._beliefs import asking_arrays, beliefs_state, read_asking, read_beliefs
from askwho.persistence._networks import NetworkGraph
from askwho.persistence._parts import (
    State,
    base_state,
    learner_state,
    network_graph,
    read_base,
    read_learner,
    read_scorer,
    scorer_state,
)
from askwho.persistence._sound import check_sound
from askwho.persistence._trees import TreeModel, forest_trees, graph
from askwho.policy import Policy
from askwho.router import Calibration, CardinalityNetwork, Coverage, Curve, Foresight, Past, Router, Rows

FORMAT = 1
_MANIFEST = "manifest.json"
_PAST = ("features", "centre", "scale", "errors", "rows")
_NAME = re.compile(r"^[a-z0-9-]+\.[0-9a-f]{16}\.(safetensors|onnx)$")
# A file of some save, or what a killed one has left of it.
_LEFT = re.compile(r"^[a-z0-9-]+\.[0-9a-f]{16}\.(safetensors|onnx)$|^\..+\.[0-9]+\.partial$")


def save(policy: Policy, folder: str | Path) -> None:
    """Write a fitted policy into a folder, which then holds this policy alone.

    Args:
        policy: fitted by `fit_policy`.
        folder: made if it is not there; an artefact in it is replaced, whole or not at all.
    """
    place = room_for(folder)
    state = _policy_state(policy)
    payload = {f"{name}.onnx": data for name, data in state.graphs.items()}
    payload["arrays.safetensors"] = save_arrays({n: np.ascontiguousarray(a) for n, a in state.arrays.items()})
    fresh = [path for path in (place, *place.parents) if not path.exists()]
    try:
        place.mkdir(parents=True, exist_ok=True)
        kept = _write(place, payload, state.plain)
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


def _write(place: Path, payload: Mapping[str, bytes], plain: Mapping[str, Any]) -> set[str]:
    """Write the files and then the manifest that names them; return their names."""
    files: dict[str, dict[str, str]] = {}
    for name, data in payload.items():
        digest = hashlib.sha256(data).hexdigest()
        stem, suffix = name.rsplit(".", 1)
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


def load(folder: str | Path) -> Policy:
    """Return the policy in a folder; it decides through ONNX Runtime and never imports torch.

    A damaged, edited or newer artefact is refused with the reason.
    """
    place = Path(folder)
    manifest = _read_manifest(place)
    state = State(plain=manifest)
    try:
        for name, entry in manifest["files"].items():
            data = _read_file(place, entry)
            if name.endswith(".onnx"):
                state.graphs[name[:-5]] = data
            else:
                state.arrays = load_arrays(data)
        policy = _read_policy(state)
        check_sound(policy, state.arrays)
    except AskwhoError:
        raise
    # ONNX Runtime's errors have no class in common, and whatever a forged part brings about is damage.
    except Exception as error:  # noqa: BLE001
        raise InvalidInputError(f"The artefact in {str(place)!r} is damaged: {type(error).__name__} {error}.") from None
    return policy


def digest(folder: str | Path) -> str:
    """Return the checksum of the artefact in a folder, which changes with anything in it."""
    return _checksum(_read_manifest(Path(folder)))


def _policy_state(policy: Policy) -> State:
    router, n_features = policy.router, policy.router.n_features_
    learner = (
        learner_state(router.learner_, n_features)
        if router.scorer_ is None
        else scorer_state(router.scorer_, n_features)
    )
    encoder, encoder_arrays = policy.encoder.to_state()
    plain: dict[str, Any] = {
        "columns": policy.columns.to_json(),
        "panel": [asdict(entity) for entity in policy.panel.entities],
        "task": router.task_,
        "learner": {"name": router.learner_name_, **learner.plain},
        "committee": router.committee_,
        "width": router.width_,
        "n_classes": router.n_classes_,
        "encoder": encoder,
        "n_features": n_features,
        "base": None,
        "metrics": {"learners": router.trials_, "validated": router.validated_},
        "provenance": {
            "askwho": version("askwho"),
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scikit-learn", "onnxruntime")},
        },
    }
    arrays = {f"learner.{name}": array for name, array in learner.arrays.items()}
    arrays |= {f"encoder.{name}": array for name, array in encoder_arrays.items()}
    arrays |= {
        "fees": router.fees_,
        "entity_errors": router.entity_errors_,
        "calibration.raw": router.calibration_.raw,
        "calibration.calibrated": router.calibration_.calibrated,
        **_rows_arrays("rows", router.rows_),
    }
    if router.foresight_ is not None:
        arrays["fee.bounds"] = router.foresight_.bounds
        arrays |= {f"fee.{n}": a for n, a in learner_state(router.foresight_.model, n_features).arrays.items()}
    graphs = dict(learner.graphs)
    if router.chooser_ is not None:
        arrays["cardinality.fee_weights"] = router.chooser_.fee_weights
        graphs["cardinality"] = network_graph(router.chooser_.networks, n_features)
    if router.curve_.fallback_ is None:
        width = n_features + 2 * len(policy.panel) - (len(policy.panel) - router.width_) + min(3, router.width_)
        graphs["curve"] = graph(list(forest_trees(router.curve_.forest_)), width)
    else:
        arrays["curve.fallback"] = router.curve_.fallback_
    if router.beliefs_ is not None:
        believed = beliefs_state(router.beliefs_)
        plain["beliefs"] = believed.plain
        arrays |= {f"beliefs.{name}": array for name, array in believed.arrays.items()}
    if router.asking_ is not None and router.turns_ is not None:
        arrays |= {f"asking.{name}": array for name, array in asking_arrays(router.asking_).items()}
        arrays |= _rows_arrays("turns", router.turns_)
    if router.coverage_ is not None:
        arrays["coverage.usual"] = router.coverage_.usual
        arrays |= {f"coverage.{n}": a for n, a in learner_state(router.coverage_.shares, n_features).arrays.items()}
    if router.overlap_ is not None:
        arrays["overlap"] = router.overlap_
    if router.past_ is not None:
        arrays |= {f"past.{name}": getattr(router.past_, name) for name in _PAST}
    if policy.base is not None:
        base = base_state(policy.base, n_features)
        plain["base"] = base.plain
        arrays |= {f"base.{name}": array for name, array in base.arrays.items()}
        graphs |= base.graphs
    return State(plain, arrays, graphs)


def _read_policy(state: State) -> Policy:
    plain, arrays = state.plain, state.arrays
    panel = Panel(tuple(Entity(**entity) for entity in plain["panel"]))
    router = Router(learner=plain["learner"]["name"], committee=plain["committee"] or "auto")
    router.panel_, router.task_, router.width_ = panel, plain["task"], int(plain["width"])
    router.n_features_, router.n_classes_ = int(plain["n_features"]), int(plain["n_classes"])
    router.committee_, router.learner_name_ = plain["committee"], plain["learner"]["name"]
    router.trials_ = dict(plain["metrics"]["learners"])
    router.fees_, router.entity_errors_ = arrays["fees"], arrays["entity_errors"]
    router.calibration_ = Calibration(arrays["calibration.raw"], arrays["calibration.calibrated"])
    router.rows_ = _read_rows(_under(arrays, "rows"))
    believed, asking, turns = plain.get("beliefs"), _under(arrays, "asking"), _under(arrays, "turns")
    router.beliefs_ = None if believed is None else read_beliefs(believed, _under(arrays, "beliefs"))
    router.asking_ = read_asking(asking) if asking else None
    router.turns_ = _read_rows(turns) if turns else None
    router.overlap_ = arrays.get("overlap")
    covered = _under(arrays, "coverage")
    usual = covered.pop("usual", None)
    router.coverage_ = None if usual is None else Coverage(Linear.of(**covered), usual)
    past = _under(arrays, "past")
    router.past_ = Past(*(past[name] for name in _PAST)) if past else None
    fee = _under(arrays, "fee")
    bounds = fee.pop("bounds", np.array([[0.0], [np.inf]]))  # artefacts of before have none
    router.foresight_ = Foresight(Linear.of(**fee), bounds) if fee else None
    own = State(plain["learner"], _under(arrays, "learner"), state.graphs)
    router.scorer_ = read_scorer(own) if plain["learner"]["kind"] == "network" else None
    if router.scorer_ is None:
        router.learner_ = read_learner(own, len(panel))
    router.chooser_ = (
        CardinalityNetwork(arrays["cardinality.fee_weights"], NetworkGraph(state.graphs["cardinality"]))
        if "cardinality" in state.graphs
        else None
    )
    router.curve_ = Curve()
    router.curve_.fallback_ = arrays.get("curve.fallback")
    if router.curve_.fallback_ is None:
        router.curve_.forest_ = TreeModel(state.graphs["curve"])
    encoder = FeatureEncoder.from_state(plain["encoder"], _under(arrays, "encoder"))
    base = None if plain["base"] is None else read_base(State(plain["base"], _under(arrays, "base"), state.graphs))
    return Policy(Columns.from_json(plain["columns"]), encoder, router, base)


def _rows_arrays(part: str, rows: Rows) -> dict[str, np.ndarray]:
    arrays = {
        "prices": rows.prices,
        "errors": rows.errors.astype(np.float32),
        "fees": rows.fees.astype(np.float32),
        "sizes": rows.sizes.astype(np.int16),
    }
    if rows.groups is not None:
        arrays["groups"] = rows.groups.astype(np.int32)
    if rows.coins is not None:
        arrays["coins"] = rows.coins
    return {f"{part}.{name}": array for name, array in arrays.items()}


def _read_rows(arrays: Mapping[str, np.ndarray]) -> Rows:
    return Rows(
        arrays["prices"],
        arrays["errors"].astype(np.float64),
        arrays["fees"].astype(np.float64),
        arrays["sizes"].astype(np.intp),
        # Artefacts from before promises have neither.
        arrays["groups"].astype(np.intp) if "groups" in arrays else None,
        arrays.get("coins"),
    )


def _under(arrays: Mapping[str, np.ndarray], part: str) -> dict[str, np.ndarray]:
    return {name[len(part) + 1 :]: array for name, array in arrays.items() if name.startswith(f"{part}.")}


def _read_manifest(place: Path) -> dict[str, Any]:
    path = place / _MANIFEST
    if not path.is_file():
        raise InvalidInputError(f"`folder` must hold an artefact, got {str(place)!r}: there is no {_MANIFEST} in it.")
    try:
        manifest = json.loads(path.read_bytes(), object_pairs_hook=partial(check.once, name="manifest"))
    except (ValueError, OSError, RecursionError):
        raise InvalidInputError(f"The artefact in {str(place)!r} is damaged: its {_MANIFEST} is no JSON.") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise InvalidInputError(f"The artefact in {str(place)!r} is damaged: its {_MANIFEST} names no format.")
    if manifest["format"] > FORMAT:
        raise InvalidInputError(
            f"The artefact in {str(place)!r} is of format {manifest['format']}, newer than {FORMAT}: update askwho."
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
