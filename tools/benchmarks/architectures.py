"""What ``export_torch.py`` exports: small configurations of transformers, and a few networks written here.

A line says the class, what its configuration differs in from ``SMALL``, and the inputs by kind.  Weights are
random: costs and shapes do not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
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
        kind = getattr(transformers, self.model)
        config = kind.config_class(**{**SMALL, "use_cache": False, **self.differs})
        return First(kind(config), list(self.inputs()))


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


# ---- networks written here ---------------------------------------------------------------


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
GROUPED = {"num_key_value_heads": 2, "head_dim": 8}

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
    "t5": Taken(
        "T5ForConditionalGeneration",
        PAIR,
        {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    ),
    "bart": Taken("BartModel", PAIR, ENCODER_DECODER),
    "marian": Taken("MarianModel", PAIR, ENCODER_DECODER),
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
    # sound
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
    "transformer": Architecture(
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2),
        lambda: {"x": (torch.rand(2, 16, 32), {0: "batch", 1: "seq"})},
    ),
}
