"""The members of the corpus: which networks, by which exporter, for which opset, and in which forms.

They are chosen for the variety of their structure.  The networks are those of
``tools/benchmarks/architectures.py`` and the pipelines those of ``tools/benchmarks/export_pipelines.py``,
which ``make models`` exports as well.
"""

from __future__ import annotations

from msgspec import Struct

EXPORTED: dict[str, dict[str, dict[int, str]]] = {
    "text": {
        "script": {
            11: "bert",
            12: "albert",
            13: "gpt2 t5",
            14: "llama",
            16: "bloom",
            17: "deepseek_v3 gpt_oss funnel longformer mamba2 deberta_v2 gpt2_cache llama_cache",
        },
        "dynamo": {
            18: "gpt2 phi3 qwen3_cache",
            20: "deepseek_v3 gpt_oss mixtral mamba2 falcon_h1 llama_cache",
            21: "qwen3",
            23: "bert llama gemma2",
        },
    },
    "pictures": {
        "script": {
            11: "resnet",
            12: "mobilenet_v2",
            15: "unet",
            16: "swin",
            17: "rt_detr detr sam_vision segformer mobilevit vit",
        },
        "dynamo": {19: "unet", 20: "rt_detr convnext", 22: "vit"},
    },
    "sound": {
        "script": {17: "wavlm wav2vec2 vits whisper_decoder"},
        "dynamo": {20: "wavlm vits whisper_encoder whisper_decoder"},
    },
    "own": {
        "script": {11: "lstm", 14: "gru", 17: "cut repeated halved found", 20: "sampled"},
        "dynamo": {18: "lstm", 20: "cut conditional scanned sampled found", 23: "transformer"},
    },
}
"""Names of networks by the file of their cases, the exporter and the opset."""

PIPELINES = "columns forest lightgbm xgboost neighbours svc gaussian_process stacking mixture"

LEVELS = ("extended", "all")
"""How far a session of onnxruntime optimises."""

FORMS = {
    "small_bert": "fp16 int4 int8_dynamic int8_qdq int8_qoperator fused fused_fp16",
    "small_resnet": "fp16 int8_dynamic int8_qdq int8_qoperator",
    "gpt2_cache_script_17": "fp16 int8_dynamic",
    "llama_dynamo_23": "int4",
    "lstm_script_11": "int8_dynamic",
    "unet_script_15": "int8_qdq",
    "mobilenet_v2_script_12": "int8_qoperator",
    "convnext_dynamo_20": "fp16",
    "t5_script_13": "int8_dynamic",
    "vit_dynamo_22": "int8_qdq",
}
"""The forms that onnxruntime's tools give to exports; each is kept as a session saves it, too."""

PADDED = ("unet_script_15@all", "mobilenet_v2_script_12@all", "rt_detr_script_17@all")
"""Forms with more products than the export: a session fills the channels of weights up to a block."""

LEFT_OUT = ("convnext_dynamo_20@all", "convnext_dynamo_20.fp16@all")
"""Not kept: `ReorderInput` fills channels up to a block, whose length (8 or 16) the file does not say."""

SAVED = "halved_script_17 cut_script_17 swin_script_16 gemma2_dynamo_23 rt_detr_script_17"
"""Other exports that are kept as a session saves them."""


class Member(Struct, frozen=True, dict=True):
    """A model of the corpus: its name, the file of its case, and how it comes about.

    ``of`` is the model that it is a form of, whose products it computes; ``form`` is which.
    """

    name: str
    file: str
    said: str
    network: str = ""
    exporter: str = ""
    opset: int = 0
    of: str = ""
    form: str = ""


def exported() -> list[Member]:
    """What torch exports."""
    told = {"script": "torch's TorchScript exporter", "dynamo": "torch's dynamo exporter"}
    return [
        Member(f"{name}_{exporter}_{opset}", file, f"`{name}`, {told[exporter]}", name, exporter, opset)
        for file, exporters in EXPORTED.items()
        for exporter, opsets in exporters.items()
        for opset, names in opsets.items()
        for name in names.split()
    ]


def pipelines() -> list[Member]:
    """What converters make of pipelines."""
    return [
        Member(f"pipeline_{name}", "pipelines", f"`{name}`, skl2onnx and onnxmltools", name, "pipeline")
        for name in PIPELINES.split()
    ]


def forms() -> list[Member]:
    """What onnxruntime's tools make of exports, and what sessions save of both."""
    found = []
    for of, names in FORMS.items():
        small = of.startswith("small_")
        if small:
            said = f"`{of}`, torch's TorchScript exporter"
            found.append(Member(of, "optimised", said, of, "script", 17))
        for form in ("", *names.split()):
            name = f"{of}.{form}".rstrip(".")
            if form:
                found.append(Member(name, "optimised", f"`{of}` as {form}", of=of, form=form))
            for level in LEVELS if small else LEVELS[-1:]:
                found.append(saved(of, name, level))
    found += [saved(name, name, "all") for name in SAVED.split()]
    return found


def saved(of: str, name: str, level: str) -> Member:
    """What a session saves of a model."""
    return Member(f"{name}@{level}", "optimised", f"`{name}` as a session saves it", of=of, form=f"@{level}")


EVERY = (*exported(), *pipelines(), *forms())
MEMBERS = {member.name: member for member in EVERY if member.name not in LEFT_OUT}

POINTS: dict[str, tuple[int, int]] = {
    "batch": (2, 3),
    "seq": (8, 5),
    "past": (6, 9),
    "whole": (14, 14),
    "target": (6, 4),
    "source": (7, 10),
    "height": (64, 96),
    "width": (64, 32),
    "samples": (4000, 3200),
}
"""Both values of lengths by name."""

OTHER_POINTS = {
    "funnel": {"seq": (16, 16)},
    "longformer": {"seq": (16, 16)},
    "falcon_h1": {"seq": (16, 16)},
    "mamba2": {"seq": (16, 16)},
    "llama_dynamo_23": {"batch": (1, 1)},
    "gemma2_dynamo_23": {"batch": (1, 1)},
}
"""Values that networks, or single members, want: some exports only run at the lengths of the example."""


def point(member: Member, name: str, which: int) -> int:
    """The value of a length at one of the two points."""
    origin = MEMBERS[member.of] if member.of else member
    other = OTHER_POINTS.get(origin.name, OTHER_POINTS.get(origin.network, {}))
    return {**POINTS, **other}.get(name, (4, 7))[which]
