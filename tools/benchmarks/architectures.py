"""What ``export_torch.py`` exports: small configurations of transformers, and a few networks written here.

A line says the class, what its configuration differs in from ``SMALL``, and the inputs by kind.  Weights are
random: costs and shapes do not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
import transformers
from torch import Tensor, nn

Axes = dict[int, str]
Inputs = dict[str, tuple[Tensor, Axes]]
"""An example of each input, and the names of its lengths that stay open."""

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 100,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@dataclass(frozen=True)
class Architecture:
    """A network and examples of its inputs."""

    make: Callable[[], nn.Module]
    inputs: Callable[[], Inputs]


@dataclass(frozen=True)
class Taken:
    """The classes of transformers to take, and how the configuration differs from ``SMALL``."""

    model: str
    inputs: Callable[[], Inputs]
    differs: dict[str, Any] = field(default_factory=dict)

    def make(self) -> nn.Module:
        """The network, which gives its first output alone."""
        return First(configured(self.model, {"use_cache": False, **self.differs}), list(self.inputs()))


def configured(model: str, differs: Mapping[str, Any]) -> nn.Module:
    """A small model of transformers, of a class by name; what is None is not said of it."""
    kind = getattr(transformers, model)
    said = {name: value for name, value in {**SMALL, **differs}.items() if value is not None}
    made: nn.Module = kind(kind.config_class(**said))
    return made


class First(nn.Module):
    """A model with its inputs in order, and its first output alone."""

    def __init__(self, model: nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *given: Tensor) -> Tensor:
        """Apply the model."""
        found: Tensor = self.model(**dict(zip(self.names, given, strict=True)), return_dict=False)[0]
        return found


# ---- inputs ------------------------------------------------------------------------------


def words(*names: str, batch: str = "batch", length: str = "seq", count: int = 16) -> Callable[[], Inputs]:
    """Words, and a mask for each of the names after the first."""

    def made() -> Inputs:
        first, *masks = names
        ids = torch.randint(3, 90, (2, count))
        axes = {0: batch, 1: length}
        return {first: (ids, axes), **{mask: (torch.ones_like(ids), axes) for mask in masks}}

    return made


def picture(side: int = 64, *, wide: bool = True, channels: int = 3) -> Callable[[], Inputs]:
    """A picture, of any size where that is wanted."""

    def made() -> Inputs:
        axes = {0: "batch", 2: "height", 3: "width"} if wide else {0: "batch"}
        return {"pixel_values": (torch.rand(2, channels, side, side), axes)}

    return made


def sound(name: str = "input_values", samples: int = 4000) -> Callable[[], Inputs]:
    return lambda: {name: (torch.rand(2, samples), {0: "batch", 1: "samples"})}


def both(*parts: Callable[[], Inputs]) -> Callable[[], Inputs]:
    return lambda: {name: given for part in parts for name, given in part().items()}


TEXT = words("input_ids", "attention_mask")
TARGET = words("decoder_input_ids", "decoder_attention_mask", length="target", count=12)
PAIR = both(TEXT, TARGET)


def remembered(layers: int = 2, heads: int = 2, width: int = 8) -> Callable[[], Inputs]:
    """Keys and values of the words before, a pair for each layer."""

    def made() -> Inputs:
        axes = {0: "batch", 2: "past"}
        names = (f"past.{layer}.{kind}" for layer in range(layers) for kind in ("key", "value"))
        return {name: (torch.rand(2, heads, 6, width), axes) for name in names}

    return made


def next_words() -> Inputs:
    """Some more words, and a mask over all there were."""
    ids = torch.randint(3, 90, (2, 4))
    mask = torch.ones(2, 10, dtype=torch.long)
    return {
        "input_ids": (ids, {0: "batch", 1: "seq"}),
        "attention_mask": (mask, {0: "batch", 1: "whole"}),
    }


def states(name: str, length: str, count: int = 16, width: int = 32) -> Callable[[], Inputs]:
    return lambda: {name: (torch.rand(2, count, width), {0: "batch", 1: length})}


# ---- parts of transformers ---------------------------------------------------------------


class Remembering(nn.Module):
    """A decoder with a cache as plain tensors, which it gives back grown."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        """Apply the model."""
        cache = transformers.DynamicCache(config=self.model.config)
        for layer, (keys, values) in enumerate(zip(past[::2], past[1::2], strict=True)):
            cache.update(keys, values, layer)
        found = self.model(
            input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True
        )
        grown = ((layer.keys, layer.values) for layer in found.past_key_values.layers)
        return (found.logits, *(tensor for pair in grown for tensor in pair))


def remembering(model: str, **differs: Any) -> Callable[[], nn.Module]:
    """A decoder of transformers with its cache as inputs and outputs."""
    return lambda: Remembering(configured(model, differs))


def part(model: str, name: str, inputs: Callable[[], Inputs], **differs: Any) -> Architecture:
    """A part of a model by itself: its encoder, or its decoder."""

    def made() -> nn.Module:
        inner = configured(model, differs)
        for step in name.split("."):
            inner = getattr(inner, step)
        return First(inner, list(inputs()))

    return Architecture(made, inputs)


# ---- networks written here ---------------------------------------------------------------


class Cut(nn.Module):
    """Attention to near words, padded: what exporters make of pad, unflatten, chunk and einsum."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Attend to four neighbours each."""
        padded = nn.functional.pad(x, (0, 0, 2, 1), value=0.0)
        q, k, v = self.mix(padded).chunk(3, -1)
        q = q.narrow(1, 2, x.shape[1]).unflatten(-1, (4, -1))
        near = (torch.stack([part[:, n : n + x.shape[1]] for n in range(4)], -1) for part in (k, v))
        k, v = (part.unflatten(2, (4, -1)) for part in near)
        weights = torch.einsum("bshc,bshcw->bshw", q, k).softmax(-1)
        found: Tensor = self.out(torch.einsum("bshw,bshcw->bshc", weights, v).flatten(2))
        return found


class Sampled(nn.Module):
    """A picture that is rolled, resized, sampled and tiled."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect")
        self.last = nn.Conv2d(2, 4, 3, padding=2, dilation=2)

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Apply the network."""
        x = self.first(pixel_values)
        x = nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        x = nn.functional.pixel_shuffle(torch.roll(x, (1, 2), (2, 3)), 2)
        theta = torch.eye(2, 3).repeat(x.shape[0], 1, 1)
        grid = nn.functional.affine_grid(theta, [x.shape[0], 2, 16, 16], align_corners=False)
        found: Tensor = self.last(nn.functional.grid_sample(x, grid, align_corners=False))
        return found.amax((2, 3))


class Repeated(nn.Module):
    """A step that is repeated for each word, with a branch in it: TorchScript keeps both."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.step = nn.Embedding(100, 16), nn.Linear(32, 16)
        self.head = nn.Linear(16, 10)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Apply the network."""
        x = self.embed(input_ids)
        state = x[:, 0] * 0
        for place in range(x.size(1)):
            state = self.step(torch.cat([x[:, place], state], -1)).tanh()
            if place % 2 == 0:
                state = state * 0.5
        return self.head(state)


class Halved(nn.Module):
    """Halving until it is small, and a side by what data says: loops and branches that only data decides."""

    def __init__(self) -> None:
        super().__init__()
        self.big, self.small = nn.Linear(16, 64), nn.Linear(16, 64)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the network."""
        while bool(x.abs().max() > 1.0):
            x = x / 2
        return self.big(x).relu() if bool(x.sum() > 0) else self.small(x)


class Conditional(nn.Module):
    """A branch by torch.cond."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(16, 8), nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, x: Tensor) -> Tensor:
        """Apply one side."""
        found: Tensor = torch.cond(x.sum() > 0, self.one, self.other, (x,))
        return found


class Scanned(nn.Module):
    """A linear recurrence by torch's scan."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(16, 8), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the network."""
        from torch._higher_order_ops.scan import scan

        def step(state: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
            state = state * 0.9 + given
            return state, state.tanh()

        given = self.enter(x).transpose(0, 1)
        _, found = scan(step, torch.zeros_like(given[0]), given)
        out: Tensor = self.leave(found.transpose(0, 1))
        return out


class Found(nn.Module):
    """Boxes above a score, the best of them by topk, and where they are."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 5, 1))

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, Tensor]:
        """Find them."""
        x = self.body(pixel_values).flatten(2).transpose(1, 2)
        score, place = x[..., 0].sigmoid().topk(4, -1)
        boxes = x[..., 1:].gather(1, place[..., None].expand(-1, -1, 4))
        return boxes[score > 0.5], torch.nonzero(score > 0.5)


class Sequential(nn.Module):
    """A recurrent network between an embedding and a linear layer."""

    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(100, 32), nn.Linear(64, 10)
        self.body = kind(32, 32, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, ids: Tensor) -> Tensor:
        """Apply the network."""
        found: Tensor = self.head(self.body(self.embed(ids))[0])
        return found


class UNet(nn.Module):
    """Down and up again, with what was there before joined to it."""

    def __init__(self, width: int = 8, depth: int = 3) -> None:
        super().__init__()
        sizes = [width << n for n in range(depth + 1)]
        self.first = self._twice(3, width)
        self.down = nn.ModuleList(self._twice(a, b) for a, b in pairwise(sizes))
        self.wider = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in pairwise(sizes))
        self.up = nn.ModuleList(self._twice(2 * a, a) for a in sizes[:-1])
        self.last = nn.Conv2d(width, 2, 1)

    @staticmethod
    def _twice(given: int, made: int) -> nn.Module:
        parts = (nn.Conv2d(given, made, 3, padding=1), nn.GroupNorm(4, made), nn.SiLU())
        return nn.Sequential(*parts, nn.Conv2d(made, made, 3, padding=1), nn.GroupNorm(4, made), nn.SiLU())

    def forward(self, x: Tensor) -> Tensor:
        """Apply the network."""
        x, kept = self.first(x), []
        for part in self.down:
            kept.append(x)
            x = part(nn.functional.max_pool2d(x, 2))
        for wider, part, before in reversed(list(zip(self.wider, self.up, kept, strict=True))):
            x = part(torch.cat([before, wider(x)], 1))
        found: Tensor = self.last(x)
        return found


STAGES = {"hidden_sizes": [8, 16, 32, 64], "depths": [1, 1, 1, 1]}
PATCHES = {"image_size": 64, "patch_size": 16}
SOUND = {
    "conv_dim": (16, 16, 16),
    "conv_stride": (5, 2, 2),
    "conv_kernel": (10, 3, 3),
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "num_feat_extract_layers": 3,
}
ENCODER_DECODER = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "decoder_start_token_id": 2,
}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
EXPERTS = {"experts_implementation": "batched_mm", "num_experts_per_tok": 2}
LATENT = {
    **EXPERTS,
    "n_routed_experts": 4,
    "n_group": 2,
    "topk_group": 1,
    "moe_intermediate_size": 16,
    "first_k_dense_replace": 1,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "num_key_value_heads": 4,
}
STATES = {"num_heads": 4, "head_dim": 16, "state_size": 8, "n_groups": 2, "chunk_size": 8}
BOTH_STATES = {
    "mamba_d_ssm": 64,
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
    "mamba_d_state": 8,
    "mamba_chunk_size": 8,
}
SPEECH = {
    "hidden_size": 16,
    "num_attention_heads": 2,
    "ffn_dim": 32,
    "flow_size": 16,
    "spectrogram_bins": 17,
    "upsample_initial_channel": 16,
    "upsample_rates": [4, 2],
    "upsample_kernel_sizes": [8, 4],
    "resblock_kernel_sizes": [3],
    "resblock_dilation_sizes": [[1, 3]],
    "prior_encoder_num_flows": 2,
    "prior_encoder_num_wavenet_layers": 2,
    "posterior_encoder_num_wavenet_layers": 2,
    "duration_predictor_num_flows": 2,
    "duration_predictor_filter_channels": 16,
}
LISTENING = {**ENCODER_DECODER, "max_source_positions": 32, "max_target_positions": 40}


def backbone(kind: str, **differs: Any) -> Any:
    """The configuration of a small ResNet, whose stages a detector takes."""
    named = getattr(transformers, kind)
    stages = {"hidden_sizes": [8, 16, 32, 64], "depths": [1, 1, 1, 1], "layer_type": "basic"}
    return named(**stages, embedding_size=8, **differs)


def detector() -> nn.Module:
    """A DETR on a small ResNet."""
    config = transformers.DetrConfig(
        backbone_config=backbone("ResNetConfig", out_features=["stage4"]),
        num_queries=5,
        **{**ENCODER_DECODER, "decoder_start_token_id": None},
    )
    return First(transformers.DetrModel(config), ["pixel_values"])


def fast_detector() -> nn.Module:
    """An RT-DETR on a small ResNet."""
    config = transformers.RTDetrConfig(
        backbone_config=backbone("RTDetrResNetConfig", out_indices=[2, 3, 4]),
        encoder_hidden_dim=32,
        encoder_in_channels=[16, 32, 64],
        encoder_ffn_dim=64,
        encoder_attention_heads=4,
        d_model=32,
        num_queries=5,
        decoder_in_channels=[32, 32, 32],
        decoder_ffn_dim=64,
        decoder_layers=2,
        decoder_attention_heads=4,
        num_denoising=0,
    )
    return First(transformers.RTDetrModel(config), ["pixel_values"])


def scripted(made: nn.Module) -> nn.Module:
    """A network whose control flow TorchScript keeps."""
    found: nn.Module = torch.jit.script(made)
    return found


def row(width: int = 16) -> Inputs:
    return {"x": (torch.rand(3, width), {0: "batch"})}


ARCHITECTURES: dict[str, Architecture | Taken] = {
    # text
    "bert": Taken("BertModel", TEXT),
    "roberta": Taken("RobertaForSequenceClassification", TEXT, {"max_position_embeddings": 514}),
    "distilbert": Taken("DistilBertModel", TEXT, {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
    "albert": Taken("AlbertModel", TEXT, {"embedding_size": 16}),
    "electra": Taken("ElectraModel", TEXT, {"embedding_size": 16}),
    "deberta_v2": Taken("DebertaV2Model", TEXT, {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "mpnet": Taken("MPNetModel", TEXT),
    "mobilebert": Taken(
        "MobileBertModel", TEXT, {"embedding_size": 16, "intra_bottleneck_size": 16, "hidden_size": 32}
    ),
    "convbert": Taken("ConvBertModel", TEXT, {"embedding_size": 32}),
    "modernbert": Taken("ModernBertModel", TEXT),
    "xlm_roberta": Taken("XLMRobertaForTokenClassification", TEXT, {"max_position_embeddings": 514}),
    "squeezebert": Taken("SqueezeBertModel", TEXT, {"embedding_size": 32}),
    "gpt2": Taken("GPT2LMHeadModel", TEXT, {"n_embd": 32, "n_layer": 2, "n_head": 4}),
    "gpt_neox": Taken("GPTNeoXForCausalLM", TEXT),
    "gptj": Taken("GPTJForCausalLM", TEXT, {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}),
    "gpt_neo": Taken(
        "GPTNeoForCausalLM",
        TEXT,
        {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 8},
    ),
    "opt": Taken("OPTForCausalLM", TEXT, {"ffn_dim": 64, "word_embed_proj_dim": 32}),
    "bloom": Taken("BloomForCausalLM", TEXT, {"n_layer": 2, "n_head": 4}),
    "falcon": Taken("FalconForCausalLM", TEXT),
    "llama": Taken("LlamaForCausalLM", TEXT, GROUPED),
    "mistral": Taken("MistralForCausalLM", TEXT, {**GROUPED, "sliding_window": 8}),
    "qwen2": Taken("Qwen2ForCausalLM", TEXT, GROUPED),
    "qwen3": Taken("Qwen3ForCausalLM", TEXT, GROUPED),
    "gemma": Taken("GemmaForCausalLM", TEXT, GROUPED),
    "gemma2": Taken("Gemma2ForCausalLM", TEXT, {**GROUPED, "sliding_window": 8, "query_pre_attn_scalar": 8}),
    "phi": Taken("PhiForCausalLM", TEXT),
    "phi3": Taken("Phi3ForCausalLM", TEXT, GROUPED),
    "stablelm": Taken("StableLmForCausalLM", TEXT, {"num_key_value_heads": 4}),
    "olmo": Taken("OlmoForCausalLM", TEXT),
    "starcoder2": Taken("Starcoder2ForCausalLM", TEXT, GROUPED),
    "granite": Taken("GraniteForCausalLM", TEXT, GROUPED),
    "smollm3": Taken("SmolLM3ForCausalLM", TEXT, GROUPED),
    "t5": Taken("T5ForConditionalGeneration", PAIR, {**T5, "decoder_start_token_id": 0}),
    "bart": Taken("BartModel", PAIR, ENCODER_DECODER),
    "marian": Taken("MarianModel", PAIR, ENCODER_DECODER),
    # experts, states, long ranges
    "deepseek_v3": Taken("DeepseekV3ForCausalLM", TEXT, LATENT),
    "gpt_oss": Taken(
        "GptOssForCausalLM",
        TEXT,
        {**GROUPED, **EXPERTS, "num_local_experts": 4, "sliding_window": 8},
    ),
    "mixtral": Taken("MixtralForCausalLM", TEXT, {**GROUPED, **EXPERTS, "num_local_experts": 4}),
    "qwen3_moe": Taken(
        "Qwen3MoeForCausalLM",
        TEXT,
        {**GROUPED, **EXPERTS, "num_experts": 4, "moe_intermediate_size": 16},
    ),
    "mamba": Taken("MambaForCausalLM", words("input_ids"), {"state_size": 8}),
    "mamba2": Taken("Mamba2ForCausalLM", words("input_ids"), STATES),
    "falcon_h1": Taken("FalconH1ForCausalLM", TEXT, {**GROUPED, **BOTH_STATES}),
    "funnel": Taken(
        "FunnelModel",
        TEXT,
        {
            "num_hidden_layers": None,
            "d_model": 32,
            "n_head": 4,
            "d_head": 8,
            "d_inner": 64,
            "block_sizes": [1, 1],
            "num_decoder_layers": 1,
        },
    ),
    "longformer": Taken("LongformerModel", TEXT, {"num_hidden_layers": 1, "attention_window": [8]}),
    "big_bird": Taken("BigBirdModel", words("input_ids", "attention_mask", count=96), {"block_size": 4}),
    # caches
    "llama_cache": Architecture(remembering("LlamaForCausalLM", **GROUPED), both(next_words, remembered())),
    "gpt2_cache": Architecture(
        remembering("GPT2LMHeadModel", n_embd=32, n_layer=2, n_head=4), both(next_words, remembered(heads=4))
    ),
    "qwen3_cache": Architecture(remembering("Qwen3ForCausalLM", **GROUPED), both(next_words, remembered())),
    "t5_encoder": part("T5EncoderModel", "encoder", TEXT, **T5),
    # pictures
    "resnet": Taken("ResNetForImageClassification", picture(), {**STAGES, "embedding_size": 8}),
    "convnext": Taken("ConvNextModel", picture(), STAGES),
    "convnextv2": Taken("ConvNextV2Model", picture(), STAGES),
    "mobilenet_v1": Taken("MobileNetV1Model", picture(), {"depth_multiplier": 0.25}),
    "mobilenet_v2": Taken("MobileNetV2Model", picture(), {"depth_multiplier": 0.35}),
    "poolformer": Taken(
        "PoolFormerModel", picture(), {"hidden_sizes": [8, 16, 32, 64], "depths": [1, 1, 1, 1]}
    ),
    "vit": Taken("ViTForImageClassification", picture(wide=False), PATCHES),
    "deit": Taken("DeiTModel", picture(wide=False), PATCHES),
    "beit": Taken("BeitModel", picture(wide=False), PATCHES),
    "dinov2": Taken("Dinov2Model", picture(wide=False), PATCHES),
    "vit_mae": Taken("ViTMSNModel", picture(wide=False), PATCHES),
    "swin": Taken(
        "SwinModel",
        picture(wide=False),
        {
            "image_size": 64,
            "embed_dim": 16,
            "depths": [2, 2],
            "num_attention_heads": [2, 4],
            "window_size": 4,
        },
    ),
    "segformer": Taken(
        "SegformerForSemanticSegmentation",
        picture(),
        {"hidden_sizes": [8, 16, 32, 64], "depths": [1] * 4, "num_attention_heads": [1, 2, 4, 8]},
    ),
    "pvt": Taken(
        "PvtModel",
        picture(wide=False),
        {
            "image_size": 64,
            "hidden_sizes": [8, 16, 32, 64],
            "depths": [1] * 4,
            "num_attention_heads": [1, 2, 4, 8],
        },
    ),
    "mobilevit": Taken(
        "MobileViTModel",
        picture(wide=False),
        {"image_size": 64, "hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32]},
    ),
    "clip_vision": Taken("CLIPVisionModel", picture(wide=False), PATCHES),
    "clip_text": Taken("CLIPTextModel", TEXT),
    "siglip_vision": Taken("SiglipVisionModel", picture(wide=False), PATCHES),
    "yolos": Taken("YolosModel", picture(wide=False), {"image_size": [64, 64], "patch_size": 16}),
    "detr": Architecture(detector, picture()),
    "rt_detr": Architecture(fast_detector, picture(wide=False)),
    "sam_vision": Taken(
        "SamVisionModel",
        picture(wide=False),
        {
            "image_size": 64,
            "patch_size": 8,
            "window_size": 3,
            "global_attn_indexes": [1],
            "output_channels": 16,
        },
    ),
    # sound
    "wavlm": Taken("WavLMModel", sound(), SOUND),
    "vits": Taken("VitsModel", words("input_ids", "attention_mask"), SPEECH),
    "whisper_encoder": part(
        "WhisperModel",
        "encoder",
        lambda: {"input_features": (torch.rand(2, 80, 64), {0: "batch"})},
        **LISTENING,
    ),
    "whisper_decoder": part(
        "WhisperModel",
        "decoder",
        both(
            words("input_ids", "attention_mask", length="target", count=12),
            states("encoder_hidden_states", "source"),
        ),
        **{**LISTENING, "use_cache": False},
    ),
    "wav2vec2": Taken("Wav2Vec2Model", sound(), SOUND),
    "hubert": Taken("HubertModel", sound(), SOUND),
    "whisper": Taken(
        "WhisperModel",
        both(lambda: {"input_features": (torch.rand(2, 80, 64), {0: "batch"})}, TARGET),
        {**ENCODER_DECODER, "max_source_positions": 32},
    ),
    "audio_spectrogram": Taken(
        "ASTModel",
        lambda: {"input_values": (torch.rand(2, 64, 16), {0: "batch"})},
        {"max_length": 64, "num_mel_bins": 16},
    ),
    # written here
    "lstm": Architecture(lambda: Sequential(nn.LSTM), words("input_ids")),
    "gru": Architecture(lambda: Sequential(nn.GRU), words("input_ids")),
    "unet": Architecture(UNet, picture()),
    "cut": Architecture(Cut, states("x", "seq")),
    "sampled": Architecture(Sampled, picture(16)),
    "repeated": Architecture(lambda: scripted(Repeated()), words("input_ids")),
    "halved": Architecture(lambda: scripted(Halved()), row),
    "conditional": Architecture(Conditional, row),
    "scanned": Architecture(Scanned, states("x", "seq", width=16)),
    "found": Architecture(Found, picture(16)),
    "transformer": Architecture(
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2),
        lambda: {"x": (torch.rand(2, 16, 32), {0: "batch", 1: "seq"})},
    ),
}
