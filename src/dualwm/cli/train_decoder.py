"""`dualwm train-decoder`: pictures of latents, for the viewer."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True, kw_only=True)
class Args:
    """Train a small decoder on a finished system's latents, for `dualwm view --decoder` to draw what was imagined.

    Nothing flows back: the system stays as it is. The frames are those of the world's behaviour on training seeds.
    """

    system: Positional[str]
    """A shipped system, or a System folder with a bank."""
    out: Path = Path("decoder.safetensors")
    """File to write."""
    episodes: int = 200
    """Behaviour episodes to learn from; a tenth of them is held out."""
    steps: int = 2000
    """Gradient steps for each kind of latent."""
    batch_size: int = 64
    """Frames a step."""
    seed: int = 0
    """Of weights and batches."""
    threads: int | None = None
    """Threads for model calls; torch's own choice by default."""
    json: bool = False
    """Print one JSON object."""


def run(args: Args) -> int:
    """Train, write, and say how sharp it is beside the nearest frame."""
    import torch

    from dualwm.zoo.decoding import DecoderSettings, train_decoder
    from dualwm.zoo.system import load

    if args.threads is not None:
        torch.set_num_threads(args.threads)
    settings = DecoderSettings(episodes=args.episodes, steps=args.steps, batch_size=args.batch_size, seed=args.seed)
    decoder, found = train_decoder(
        load(args.system), settings, tell=lambda text: None if args.json else print(text, file=sys.stderr)
    )
    decoder.save(args.out)
    if args.json:
        print(json.dumps({"out": str(args.out), "rmse": {name: asdict(one) for name, one in found.items()}}))
        return 0
    for name, one in found.items():
        print(
            f"{name} latents, held-out frames: error {one.decoder:.2f} grey levels of 255 (root mean square), "
            f"{one.nearest_frame:.2f} when the nearest frame of the bank is shown instead"
        )
    print(f"Wrote {args.out}. Next: dualwm view RUN --decoder {args.out}")
    return 0
