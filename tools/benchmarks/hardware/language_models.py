"""Records how long language models take, by phase: one command, on a machine with a GPU.

    PYTHONPATH=tools/benchmarks python3 -m hardware.language_models FILE.json [NAME ...]

The models are those of ``configs/``, as transformers builds them, with random weights in bfloat16.
Prefill and decode are timed at several batches and contexts, as Python launches the kernels (*eager*) and
as one CUDA graph.  The cache is laid out beforehand, as engines do, so that no step copies it.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import transformers
import transformers.integrations.sdpa_attention
import transformers.masking_utils
from transformers import AutoConfig, AutoModelForCausalLM

CONFIGS = Path(__file__).parent / "configs"
PREFILL = ((1, 512), (1, 2048), (1, 8192), (8, 1024))
DECODE = tuple((batch, context) for context in (512, 2048, 8192) for batch in (1, 8, 64))
LIMIT = 530.0
"""Seconds after which no further model is begun: a machine is lent for ten minutes at a time."""


class Laid:
    """A cache laid out for a whole context: the last token's keys and values go into the last place.

    It answers what a forward pass asks of transformers' own caches, and a step leaves it as it was, so
    that the same step can be timed again.
    """

    is_compileable = False
    layers: tuple[()] = ()
    is_sliding: list[bool]

    def __init__(self, context: int, windows: list[int | None]) -> None:
        self.context = context
        self.lengths = [min(context, window) if window else context for window in windows]
        self.is_sliding = [window is not None for window in windows]
        self.held: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def update(
        self, key: torch.Tensor, value: torch.Tensor, layer: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if layer not in self.held:
            self.held[layer] = (self._room(key, layer), self._room(value, layer))
        keys, values = self.held[layer]
        keys[:, :, -1:], values[:, :, -1:] = key, value
        return keys, values

    def _room(self, new: torch.Tensor, layer: int) -> torch.Tensor:
        return torch.randn(
            *new.shape[:2], self.lengths[layer], new.shape[3], dtype=new.dtype, device=new.device
        )

    def get_seq_length(self, layer: int = 0) -> int:
        return self.context - 1

    def get_query_offset(self, layer: int = 0) -> int:
        return self.context - 1

    def get_mask_sizes(self, new: Any, layer: int = 0) -> tuple[int, int]:
        return self.lengths[layer], self.context - self.lengths[layer]

    def get_max_cache_shape(self, layer: int = 0) -> int:
        return self.context

    def get_max_length(self) -> int:
        return self.context

    @property
    def bytes(self) -> int:
        return sum(part.nbytes for pair in self.held.values() for part in pair)


def windows(config: Any) -> list[int | None]:
    """The window of each layer, None where it sees all."""
    count = config.num_hidden_layers
    size = getattr(config, "sliding_window", None)
    kinds = (
        getattr(config, "layer_types", None) or ["sliding_attention" if size else "full_attention"] * count
    )
    return [size if kind == "sliding_attention" else None for kind in kinds]


def masks(config: Any) -> Any:
    """No mask: a step's token sees all that its layer holds."""
    kinds = set(getattr(config, "layer_types", None) or ())
    return dict.fromkeys(kinds) if "sliding_attention" in kinds else None


def without_masks() -> None:
    """Let transformers leave out masks that say nothing also while a graph is recorded, as it does otherwise.

    It takes the recording for a trace, where lengths may change later, lays out a mask, and so loses the
    fused kernel.
    """
    for module in [held for name, held in sys.modules.items() if name.startswith("transformers.")]:
        for asked in {"is_tracing", "is_cuda_stream_capturing"} & set(vars(module)):
            setattr(module, asked, lambda *_: False)
    # It also looks for several texts in one row, which makes the host wait for the GPU.
    transformers.masking_utils.find_packed_sequence_indices = lambda *_, **__: None


def built(name: str, device: str) -> tuple[Any, Any]:
    config = AutoConfig.from_pretrained(CONFIGS / f"{name}.json")
    config._attn_implementation = "sdpa"
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.normal_(0, 0.02)
    return config, model


def prefill(config: Any, model: Any, batch: int, tokens: int, device: str) -> tuple[Callable[[], Any], int]:
    """One forward pass over a prompt, with the logits of its last token, as generation asks for."""
    ids = torch.randint(0, config.vocab_size, (batch, tokens), device=device)
    return lambda: model(input_ids=ids, use_cache=False, logits_to_keep=1), 0


def decode(config: Any, model: Any, batch: int, context: int, device: str) -> tuple[Callable[[], Any], int]:
    """One step: a token for each sequence, where the cache holds the others of the context."""
    ids = torch.randint(0, config.vocab_size, (batch, 1), device=device)
    places = torch.full((batch, 1), context - 1, device=device)
    cache = Laid(context, windows(config))
    mask = masks(config)

    def step() -> Any:
        return model(
            input_ids=ids, position_ids=places, attention_mask=mask, past_key_values=cache, use_cache=True
        )

    step()
    return step, cache.bytes


def points(config: Any) -> Iterator[tuple[str, Callable[..., Any], int, int]]:
    most = config.max_position_embeddings
    for batch, tokens in PREFILL:
        if tokens <= most:
            yield "prefill", prefill, batch, tokens
    for batch, context in DECODE:
        if context <= most:
            yield "decode", decode, batch, context


def times(call: Callable[[], Any], runs: int = 15) -> list[float]:
    """Microseconds of each call: from the host's start until the GPU has ended."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    taken = []
    for _ in range(runs):
        began = time.perf_counter()
        call()
        torch.cuda.synchronize()
        taken.append((time.perf_counter() - began) * 1e6)
    return sorted(taken)


def graphed(call: Callable[[], Any]) -> Callable[[], Any]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def rows(name: str) -> Iterator[dict[str, Any]]:
    config, model = built(name, "cuda")
    weights = sum(tensor.nbytes for tensor in {id(t): t for t in model.parameters()}.values())
    count = sum(tensor.numel() for tensor in model.parameters())
    for phase, make, batch, tokens in points(config):
        row: dict[str, Any] = {"model": name, "phase": phase, "batch": batch, "tokens": tokens}
        row |= {"parameters": count, "weight_bytes": weights}
        try:
            call, held = make(config, model, batch, tokens, "cuda")
            row["cache_bytes"] = held
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            call()
            torch.cuda.synchronize()
            row["activation_peak_bytes"] = torch.cuda.max_memory_allocated() - before
            taken = times(call)
            row |= {"eager_us": round(taken[len(taken) // 2], 1), "eager_low_us": round(taken[1], 1)}
            replay = graphed(call)
            taken = times(replay)
            row |= {"graph_us": round(taken[len(taken) // 2], 1), "graph_low_us": round(taken[1], 1)}
        except (RuntimeError, TypeError, AttributeError, ValueError, NotImplementedError) as problem:
            row["error"] = (str(problem).splitlines() or [type(problem).__name__])[0][:200]
            print(row, flush=True)
        call = replay = None
        gc.collect()
        torch.cuda.empty_cache()
        yield row


def record(file: Path, names: list[str]) -> None:
    began = time.monotonic()
    done: list[Mapping[str, Any]] = []
    for name in names:
        if time.monotonic() - began > LIMIT:
            print("no time for", name, flush=True)
            continue
        try:
            with torch.no_grad():
                done += list(rows(name))
        except (RuntimeError, TypeError, AttributeError, ValueError, KeyError) as problem:
            print(name, type(problem).__name__, problem, flush=True)
        gc.collect()
        torch.cuda.empty_cache()
        print(f"{name} after {time.monotonic() - began:.0f} s", flush=True)
        head = {
            "date": datetime.now(UTC).date().isoformat(),
            "device": torch.cuda.get_device_name(0),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        }
        text = ",\n  ".join(json.dumps(row) for row in done)
        file.write_text(json.dumps(head)[:-1] + f', "rows": [\n  {text}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    without_masks()
    every = sorted(file.stem for file in CONFIGS.glob("*.json"))
    record(Path(sys.argv[1]), sys.argv[2:] or every)
