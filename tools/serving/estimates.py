"""Records what accelerate estimates of the shipped models: the bytes of each in float32.

    python -m tools.serving.estimates tests/plan/accelerate.json

It needs torch, transformers and accelerate; a test reads the file, and needs none of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import accelerate
import torch
import transformers
from accelerate import init_empty_weights
from accelerate.utils import calculate_maximum_sizes
from transformers import AutoConfig, AutoModel

from tolcost.apps.plan.door import shipped_model, shipped_models

SMALLER = {"deepseek-v3": {"num_hidden_layers": 5, "n_routed_experts": 16, "vocab_size": 1000}}
"""Of what is built in memory, parts of a size that this allows."""


def main(file: str) -> None:
    found = {}
    for name in shipped_models():
        config = {**shipped_model(name).config, **SMALLER.get(name, {})}
        kind = config.pop("model_type")
        with init_empty_weights():
            model = AutoModel.from_config(AutoConfig.for_model(kind, **config), dtype=torch.float32)
        found[name] = calculate_maximum_sizes(model)[0]
        print(name, found[name], flush=True)
    head = {"accelerate": accelerate.__version__, "transformers": transformers.__version__}
    Path(file).write_text(json.dumps({**head, "smaller": SMALLER, "bytes": found}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
