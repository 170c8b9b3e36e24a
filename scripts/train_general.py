"""Train the shipped prior `general` on graphs of many kinds. One core, an hour and a half.

    OMP_NUM_THREADS=1 .venv/bin/python scripts/train_general.py --out general.safetensors

A run that was stopped goes on. Then move the two files to src/graphprior/priors/shipped/.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from pathlib import Path

import torch

from graphprior.priors.card import describe_graphs, graphs_hash, training_card
from graphprior.priors.general.mixture import KINDS, LARGEST, SIZES, Mixture
from graphprior.priors.networks.evidence_network import EvidenceNetworkConfig
from graphprior.priors.store import load_checkpoint, save_checkpoint, save_prior
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.training import TrainingConfig, new_state, train

NETWORK = EvidenceNetworkConfig(layers=8, channels=40, paths=20, hidden=80)
CHECKPOINT_SECONDS = 120


def main(out: Path, steps: int, seed: int) -> None:
    """Train, telling the validation loss as it goes, and write the prior and its card."""
    torch.set_num_threads(1)
    config = TrainingConfig(
        steps=steps, seed=seed, validate_every=2500, patience=steps,
        objective=CrossEntropy(network=NETWORK),
    )  # fmt: skip
    examples = Mixture()
    held_out = examples.held_out(seed)
    data, checkpoint = graphs_hash(held_out), out.with_name(out.name + ".checkpoint")
    state = load_checkpoint(checkpoint, config, data) if checkpoint.exists() else new_state(config)
    began = saved = time.monotonic()
    first = state.step
    for _ in train(examples, config, state):
        if time.monotonic() - saved > CHECKPOINT_SECONDS or state.step == steps:
            save_checkpoint(checkpoint, state, config, data)
            saved = time.monotonic()
        if state.step % 500 == 0:
            each = (time.monotonic() - began) / (state.step - first)
            last = state.history[-1]["loss"] if state.history else float("nan")
            left = each * (steps - state.step) / 60
            print(
                f"{state.step} of {steps}, validation {last:.4f}, {left:.0f} min left", flush=True
            )
    prior = config.objective.prior(state.best)
    source = f"drawn anew in each step, of {len(KINDS)} kinds; sizes and statistics: 200 of them"
    facts = {**describe_graphs(held_out, source, {}, "MIT"), "count": "endless"}
    facts["range"] = [SIZES[0], LARGEST]
    command = f"python scripts/train_general.py --steps {steps} --seed {seed} --out {out.name}"
    prior.card = training_card(
        "evidence", facts, command, asdict(config), state.network, state.history
    )
    save_prior(prior, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("general.safetensors"))
    parser.add_argument("--steps", type=int, default=58_000)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
