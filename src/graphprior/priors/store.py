"""Priors and training checkpoints on disk: safetensors, never a pickle.

A prior is ``name.safetensors`` (weights, and in its header the kind, sizes and
format version) beside ``name.json``, its model card: data, licence, command,
steps, validation. Files are written whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor, nn

from graphprior.errors import GraphPriorError
from graphprior.io.atomic import write_whole
from graphprior.io.safe import read_json
from graphprior.priors.networks.edp_gnn import EDPGNN, EDPGNNConfig, EDPGNNPrior
from graphprior.priors.networks.evidence_network import (
    EvidenceNetwork,
    EvidenceNetworkConfig,
    EvidenceNetworkPrior,
)
from graphprior.priors.training.training import (
    OBJECTIVES,
    TrainingConfig,
    TrainingState,
    new_state,
)

FORMAT = "graphprior"
VERSION = "1"
SHIPPED = Path(__file__).parent / "shipped"
# A checkout has more, which only the figures of the paper need.
REPOSITORY = Path(__file__).parents[3] / "priors"
VARIABLE = "GRAPHPRIOR_PRIORS"

NetworkPrior = EvidenceNetworkPrior | EDPGNNPrior


def _evidence(config: dict[str, Any], weights: dict[str, Tensor]) -> EvidenceNetworkPrior:
    network = EvidenceNetwork(EvidenceNetworkConfig(**config))
    network.load_state_dict(weights)
    return EvidenceNetworkPrior(network)


def _edp_gnn(config: dict[str, Any], weights: dict[str, Tensor]) -> EDPGNNPrior:
    network = EDPGNN(EDPGNNConfig(**config))
    network.load_state_dict(weights)
    return EDPGNNPrior(network)


KINDS: dict[str, Callable[[dict[str, Any], dict[str, Tensor]], NetworkPrior]] = {
    EvidenceNetworkPrior.kind: _evidence,
    EDPGNNPrior.kind: _edp_gnn,
}


def _safetensors(tensors: dict[str, Tensor], header: dict[str, str]) -> bytes:
    """The file's bytes. `save` orders the header at random: same content, same bytes needs more."""
    content = save(tensors, header)
    size = int.from_bytes(content[:8], "little")
    fields = json.loads(content[8 : 8 + size])
    fields["__metadata__"] = dict(sorted(fields["__metadata__"].items()))
    packed = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
    packed += b" " * (-len(packed) % 8)  # the format wants the tensors aligned
    return len(packed).to_bytes(8, "little") + packed + content[8 + size :]


def _read(path: Path, expected: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    if not path.is_file():
        raise GraphPriorError(f"{path}: no such file; `graphprior priors` lists the shipped priors")
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except Exception as error:  # also of types and sizes that torch does not have
        raise GraphPriorError(
            f"{path} is truncated or not a safetensors file ({error}); "
            "train it again or copy it anew"
        ) from None
    if header.get("format") != f"{FORMAT}-{expected}":
        raise GraphPriorError(
            f"{path} is a safetensors file but not a graphprior {expected} "
            f"(format {header.get('format')!r}); give a file written by `graphprior train`"
        )
    if header.get("version") != VERSION:
        raise GraphPriorError(
            f"{path} has format version {header.get('version')!r}, this release reads {VERSION!r}: "
            "install a matching release of graphprior or train the prior again"
        )
    return tensors, header


def save_prior(prior: NetworkPrior, path: str | Path, card: dict[str, Any] | None = None) -> Path:
    """Write ``prior`` to ``path`` (.safetensors) and ``card``, or its own, beside it (.json)."""
    if not isinstance(prior, NetworkPrior):
        raise GraphPriorError(f"{type(prior).__name__} has no network to save")
    path = Path(path)
    if path.suffix != ".safetensors":
        raise GraphPriorError(f"{path}: a prior's file name ends in .safetensors")
    header = {
        "format": f"{FORMAT}-prior",
        "version": VERSION,
        "kind": prior.kind,
        "config": json.dumps(asdict(prior.network.config)),
    }
    sidecar = path.with_suffix(".json")
    if card is None and prior.card is not None:
        card = {**prior.card, "name": path.stem}
    words = None if card is None else (json.dumps(card, indent=1) + "\n").encode()
    write_whole(path, _safetensors(dict(prior.network.state_dict()), header))
    if words is not None:
        write_whole(sidecar, words)
    else:
        sidecar.unlink(missing_ok=True)
    return path


def load_prior(name: str | Path) -> NetworkPrior:
    """A prior by its name (see `prior_path`), or one from a .safetensors file."""
    path = prior_path(name)
    tensors, header = _read(path, "prior")
    if header.get("kind") not in KINDS:
        raise GraphPriorError(
            f"{path} holds a prior of kind {header.get('kind')!r}, unknown to this release "
            f"(it knows {', '.join(KINDS)})"
        )
    try:
        config = json.loads(header["config"])
        _refuse_sizes(config, tensors)
        prior = KINDS[header["kind"]](config, tensors)
    except Exception as error:  # networks of senseless sizes raise anything
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise GraphPriorError(f"{path}: weights and header do not agree ({first})") from None
    prior.card = read_card(path) or None
    prior.name = path.stem
    return prior


def _refuse_sizes(config: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """A header may ask for any network; one larger than the weights is never built."""
    entries = sum(tensor.numel() for tensor in tensors.values())
    for name, value in config.items():
        most = len(tensors) if name == "layers" else entries
        if not isinstance(value, int) or not 0 <= value <= most:
            raise ValueError(f"{name} = {value!r} is more than the weights hold")
    widths = [value for name, value in config.items() if name != "layers"]
    if len(widths) > 1 and sorted(widths)[-1] * sorted(widths)[-2] > 16 * entries:
        raise ValueError("the network is larger than the weights")


def prior_path(name: str | Path) -> Path:
    """The file of a prior: by its name if it is shipped or in a folder of priors, or by its path.

    The folder is the one that the environment variable GRAPHPRIOR_PRIORS names,
    or else ``priors`` of the checkout, with the weights of the paper's figures.
    """
    if str(name).endswith(".safetensors"):
        return Path(name)
    shipped, folder = shipped_priors(), Path(os.environ.get(VARIABLE) or REPOSITORY)
    there = shipped.get(str(name), folder / f"{name}.safetensors")
    if there.is_file():
        return there
    raise GraphPriorError(
        f"no shipped prior is called {str(name)!r}: there are {', '.join(shipped) or 'none'}, and "
        f"none of this name is in {folder}. The priors of the paper's figures are in the folder "
        f"'priors' of the repository, with a model card whose command trains each again; set "
        f"{VARIABLE} to that folder. A prior of your own is a path ending in .safetensors"
    )


def shipped_priors() -> dict[str, Path]:
    """Names and files of the priors that come with the package."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.safetensors"))}


def read_card(name: str | Path) -> dict[str, Any]:
    """The model card of a prior; empty where it has none."""
    path = prior_path(name).with_suffix(".json")
    if not path.is_file():
        return {}
    card: dict[str, Any] = read_json(path, "a JSON model card")
    if not isinstance(card, dict):
        raise GraphPriorError(f"{path} is not a JSON model card: expected an object")
    return card


def _identity(config: TrainingConfig) -> dict[str, Any]:
    """The settings as JSON has them, the objective by name; none that is None."""
    told: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    return {
        **{name: value for name, value in told.items() if value is not None},
        "kind": config.objective.kind,
    }


def checkpoint_settings(path: Path) -> tuple[TrainingConfig, str]:
    """The settings of the training that a checkpoint is of, and the hash of its graphs."""
    _, header = _read(path, "checkpoint")
    try:
        told = json.loads(header["config"])
        objective = told.pop("objective")
        kind: Callable[..., Any] = OBJECTIVES[told.pop("kind")]
        network = type(kind().network)(**objective.pop("network"))
        ranges = {k: tuple(v) if isinstance(v, list) else v for k, v in objective.items()}
        config = TrainingConfig(**told, objective=kind(**ranges, network=network))
        return config, header["data"]
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise GraphPriorError(
            f"{path}: its header is not one of a training ({first}); restart=True begins anew"
        ) from None


def save_checkpoint(path: Path, state: TrainingState, config: TrainingConfig, data: str) -> None:
    """All of a training's state in one file; ``data`` is the hash of its graphs."""
    tensors: dict[str, Tensor] = {}
    networks = {"network": state.network, "average": state.average, "best": state.best}
    for part, network in networks.items():
        tensors |= {f"{part}.{key}": value for key, value in network.state_dict().items()}
    names = [name for name, _ in state.network.named_parameters()]
    for index, moments in state.optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{names[index]}.{key}": value for key, value in moments.items()}
    header = {
        "format": f"{FORMAT}-checkpoint",
        "version": VERSION,
        "config": json.dumps(_identity(config)),
        "data": data,
        "step": str(state.step),
        "history": json.dumps(state.history),
        "tried": json.dumps(state.tried),
    }
    write_whole(path, _safetensors({k: v.contiguous().clone() for k, v in tensors.items()}, header))


def load_checkpoint(
    path: Path, config: TrainingConfig, data: str, device: str | torch.device = "cpu"
) -> TrainingState:
    """The state a training had reached, if it was this training."""
    tensors, header = _read(path, "checkpoint")
    try:
        return _restore(path, tensors, header, config, data, device)
    except GraphPriorError:
        raise
    except (RuntimeError, KeyError, ValueError, TypeError) as error:
        first = str(error).splitlines()[0]
        raise GraphPriorError(
            f"{path}: its tensors and header do not agree ({first}); restart=True begins anew"
        ) from None


def _restore(
    path: Path,
    tensors: dict[str, Tensor],
    header: dict[str, str],
    config: TrainingConfig,
    data: str,
    device: str | torch.device,
) -> TrainingState:
    if header["data"] != data or json.loads(header["config"]) != _identity(config):
        raise GraphPriorError(
            f"{path} belongs to a training with other graphs or settings: "
            "use the same ones to go on, or restart=True to begin anew"
        )
    state = new_state(config, device)
    for part in ("network", "average", "best"):
        _load_part(getattr(state, part), tensors, part)
    moments: dict[int, dict[str, Tensor]] = {}
    for index, (name, parameter) in enumerate(state.network.named_parameters()):
        if int(header["step"]) == 0:
            break  # Adam has no moments before its first step
        shapes = {"step": torch.Size(), "exp_avg": parameter.shape, "exp_avg_sq": parameter.shape}
        moments[index] = {key: tensors[f"adam.{name}.{key}"] for key in shapes}
        if any(moments[index][key].shape != shape for key, shape in shapes.items()):
            raise ValueError(f"moments of {name} have another shape")
    adam = state.optimizer.state_dict()
    state.optimizer.load_state_dict({"state": moments, "param_groups": adam["param_groups"]})
    state.step = int(header["step"])
    state.history = json.loads(header["history"])
    state.tried = json.loads(header.get("tried", "{}"))
    return state


def _load_part(network: nn.Module, tensors: dict[str, Tensor], part: str) -> None:
    prefix = f"{part}."
    network.load_state_dict(
        {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
    )
