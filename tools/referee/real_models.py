"""The models of transformers and PyTorch that families are held to, with weights by the programs' names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import transformers
from torch import nn

Weights = Mapping[str, Any]


def put(model: nn.Module, values: Mapping[str, Any]) -> nn.Module:
    """A model with these parameters; all of them must be there."""
    state = {name: torch.tensor(np.asarray(value, np.float64)) for name, value in values.items()}
    model = model.double().eval()
    missing, unexpected = model.load_state_dict(state, strict=False)
    buffers = {name for name, _ in model.named_buffers()}
    tied = {name for name in missing if name.endswith(("lm_head.weight", "decoder.weight", "decoder.bias"))}
    if unexpected or set(missing) - buffers - tied - {
        n for n in missing if "embed_tokens" in n or "rope" in n
    }:
        raise SystemExit(f"{type(model).__name__}: missing {missing}, unexpected {unexpected}")
    if hasattr(model, "tie_weights"):
        model.tie_weights()
    return model


def gpt2(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    d = n["h"] * n["e"]
    config = transformers.GPT2Config(
        vocab_size=n["v"],
        n_positions=n["p"],
        n_embd=d,
        n_layer=n["l"],
        n_head=n["h"],
        n_inner=n["f"],
        attn_implementation="eager",
    )
    values = {"wte.weight": w["tokens"], "wpe.weight": w["places"]}
    for k in range(n["l"]):
        names = {
            "ln_1.weight": w["norms"][k, 0],
            "ln_1.bias": w["norms"][k, 1],
            "ln_2.weight": w["norms"][k, 2],
            "ln_2.bias": w["norms"][k, 3],
            "attn.c_attn.weight": w["qkv"][k],
            "attn.c_attn.bias": w["qkv_bias"][k],
            "attn.c_proj.weight": w["out"][k],
            "attn.c_proj.bias": w["out_bias"][k],
            "mlp.c_fc.weight": w["up"][k],
            "mlp.c_fc.bias": w["up_bias"][k],
            "mlp.c_proj.weight": w["down"][k],
            "mlp.c_proj.bias": w["down_bias"][k],
        }
        values |= {f"h.{k}.{name}": value for name, value in names.items()}
    values |= {"ln_f.weight": w["last"][0], "ln_f.bias": w["last"][1]}
    model = transformers.GPT2LMHeadModel(config)
    return put(model, {f"transformer.{name}": value for name, value in values.items()}), (w["ids"],)


def llama_like(n: dict[str, int], w: Weights, kind: Any, config: Any) -> tuple[nn.Module, tuple[Any, ...]]:
    values = {
        "model.embed_tokens.weight": w["tokens"],
        "model.norm.weight": w["last"],
        "lm_head.weight": w["head"].T,
    }
    keys, vals = ("keys", "values") if "keys" in w else ("k", "w")
    for i in range(n["l"]):
        names = {
            "input_layernorm.weight": w["norms"][i, 0],
            "post_attention_layernorm.weight": w["norms"][i, 1],
            "self_attn.q_proj.weight": w["q"][i].T,
            "self_attn.k_proj.weight": w[keys][i].T,
            "self_attn.v_proj.weight": w[vals][i].T,
            "self_attn.o_proj.weight": w["out"][i].T,
        }
        if "router" in w:
            names["mlp.gate.weight"] = w["router"][i].T
            names["mlp.experts.gate_up_proj"] = np.concatenate([w["gate"][i], w["up"][i]], axis=1)
            names["mlp.experts.down_proj"] = w["down"][i]
        else:
            names |= {f"mlp.{name}_proj.weight": w[name][i].T for name in ("gate", "up", "down")}
        values |= {f"model.layers.{i}.{name}": value for name, value in names.items()}
    return put(kind(config), values), (w["ids"],)


def common(n: dict[str, int]) -> dict[str, Any]:
    return dict(  # noqa: C408
        vocab_size=n["v"],
        hidden_size=n["d"],
        intermediate_size=n["f"],
        num_hidden_layers=n["l"],
        num_attention_heads=n["g"] * n["r"],
        num_key_value_heads=n["g"],
        head_dim=2 * n["c"],
        rms_norm_eps=1e-5,
        max_position_embeddings=64,
        attn_implementation="eager",
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )


def llama(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    return llama_like(n, w, transformers.LlamaForCausalLM, transformers.LlamaConfig(**common(n)))


def mistral(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    config = transformers.MistralConfig(**common(n), sliding_window=n["window"])
    return llama_like(n, w, transformers.MistralForCausalLM, config)


def mixtral(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    config = transformers.MixtralConfig(
        **common(n), num_local_experts=n["n"], num_experts_per_tok=n["k"], experts_implementation="eager"
    )
    return llama_like(n, w, transformers.MixtralForCausalLM, config)


def deepseek(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    config = transformers.DeepseekV3Config(
        vocab_size=n["v"],
        hidden_size=n["d"],
        intermediate_size=n["f"],
        num_hidden_layers=n["l"],
        num_attention_heads=n["h"],
        num_key_value_heads=n["h"],
        q_lora_rank=n["r"],
        kv_lora_rank=n["t"],
        qk_rope_head_dim=2 * n["c"],
        qk_nope_head_dim=n["e"],
        v_head_dim=n["u"],
        first_k_dense_replace=n["l"],
        rms_norm_eps=1e-5,
        max_position_embeddings=64,
        attn_implementation="eager",
    )
    values = {
        "model.embed_tokens.weight": w["tokens"],
        "model.norm.weight": w["last"],
        "lm_head.weight": w["head"].T,
    }
    for i in range(n["l"]):
        names = {
            "input_layernorm.weight": w["norms"][i, 0],
            "post_attention_layernorm.weight": w["norms"][i, 1],
            "self_attn.q_a_proj.weight": w["q_narrow"][i].T,
            "self_attn.q_a_layernorm.weight": w["q_norm"][i],
            "self_attn.q_b_proj.weight": w["q_wide"][i].T,
            "self_attn.kv_a_proj_with_mqa.weight": w["kv_narrow"][i].T,
            "self_attn.kv_a_layernorm.weight": w["kv_norm"][i],
            "self_attn.kv_b_proj.weight": w["kv_wide"][i].T,
            "self_attn.o_proj.weight": w["out"][i].T,
        } | {f"mlp.{name}_proj.weight": w[name][i].T for name in ("gate", "up", "down")}
        values |= {f"model.layers.{i}.{name}": value for name, value in names.items()}
    model = put(transformers.DeepseekV3ForCausalLM(config), values)
    for module in model.modules():
        if hasattr(module, "variance_epsilon"):
            module.variance_epsilon = 1e-5
    return model, (w["ids"],)


def encoder(k: int, w: Weights, at: Mapping[str, str]) -> dict[str, Any]:
    """The weights of a layer of BERT or ViT, by the names there."""
    norms = {
        "first.weight": w["norms"][k, 0],
        "first.bias": w["norms"][k, 1],
        "second.weight": w["norms"][k, 2],
        "second.bias": w["norms"][k, 3],
    }
    qkv = {f"{name}.weight": w["qkv"][k, i].T for i, name in enumerate(("query", "key", "value"))}
    qkv |= {f"{name}.bias": w["qkv_bias"][k, i] for i, name in enumerate(("query", "key", "value"))}
    rest = {f"{name}.weight": w[name][k].T for name in ("out", "up", "down")}
    rest |= {f"{name}.bias": w[f"{name}_bias"][k] for name in ("out", "up", "down")}
    found = {**norms, **qkv, **rest}
    return {f"{at[name.partition('.')[0]]}.{name.partition('.')[2]}": value for name, value in found.items()}


def bert(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    config = transformers.BertConfig(
        vocab_size=n["v"],
        hidden_size=n["h"] * n["e"],
        num_hidden_layers=n["l"],
        num_attention_heads=n["h"],
        intermediate_size=n["f"],
        max_position_embeddings=n["p"],
        type_vocab_size=2,
        attn_implementation="eager",
    )
    at = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "out": "attention.output.dense",
        "first": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "second": "output.LayerNorm",
    }
    values = {
        "bert.embeddings.word_embeddings.weight": w["tokens"],
        "bert.embeddings.position_embeddings.weight": w["places"],
        "bert.embeddings.token_type_embeddings.weight": w["kinds"],
        "bert.embeddings.LayerNorm.weight": w["first"][0],
        "bert.embeddings.LayerNorm.bias": w["first"][1],
        "cls.predictions.transform.dense.weight": w["change"].T,
        "cls.predictions.transform.dense.bias": w["change_bias"],
        "cls.predictions.transform.LayerNorm.weight": w["last"][0],
        "cls.predictions.transform.LayerNorm.bias": w["last"][1],
        "cls.predictions.bias": w["bias"],
    }
    for k in range(n["l"]):
        values |= {f"bert.encoder.layer.{k}.{name}": value for name, value in encoder(k, w, at).items()}
    return put(transformers.BertForMaskedLM(config), values), (w["ids"],)


def vit(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    config = transformers.ViTConfig(
        hidden_size=n["h"] * n["e"],
        num_hidden_layers=n["l"],
        num_attention_heads=n["h"],
        intermediate_size=n["f"],
        image_size=(n["p"] * n["y"], n["p"] * n["x"]),
        patch_size=n["p"],
        num_channels=n["n"],
        num_labels=n["v"],
        attn_implementation="eager",
    )
    model = transformers.ViTForImageClassification(config)
    names = list(dict(model.named_parameters()))
    layer = [name.partition("0.")[2] for name in names if ".0." in name and name.endswith("weight")]
    head = next(name for name in names if ".0." in name).partition("0.")[0]
    find = lambda *words: next(x for x in layer if any(word in x for word in words)).removesuffix(".weight")  # noqa: E731
    at = {
        "query": find("query", "q_proj"),
        "key": find("key", "k_proj"),
        "value": find("value", "v_proj"),
        "out": find("attention.output.dense", "o_proj"),
        "first": find("layernorm_before"),
        "second": find("layernorm_after"),
        "up": find("intermediate.dense", "fc1"),
        "down": next(x for x in layer if x in ("output.dense.weight", "mlp.fc2.weight")).removesuffix(
            ".weight"
        ),
    }
    values = {
        "vit.embeddings.cls_token": w["class"][None, None],
        "vit.embeddings.position_embeddings": w["places"][None],
        "vit.embeddings.patch_embeddings.projection.weight": w["patch"],
        "vit.embeddings.patch_embeddings.projection.bias": w["patch_bias"],
        "vit.layernorm.weight": w["last"][0],
        "vit.layernorm.bias": w["last"][1],
        "classifier.weight": w["head"].T,
        "classifier.bias": w["head_bias"],
    }
    for k in range(n["l"]):
        values |= {f"{head}{k}.{name}": value for name, value in encoder(k, w, at).items()}
    return put(model, values), (w["image"],)


def t5(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    config = transformers.T5Config(
        vocab_size=n["v"],
        d_model=n["d"],
        d_kv=n["e"],
        d_ff=n["f"],
        num_layers=n["l"],
        num_decoder_layers=n["m"],
        num_heads=n["h"],
        feed_forward_proj="relu",
        decoder_start_token_id=0,
        attn_implementation="eager",
    )
    values = {
        "shared.weight": w["tokens"],
        "encoder.final_layer_norm.weight": w["encoder_last"],
        "decoder.final_layer_norm.weight": w["last"],
    }
    for i in range(n["l"]):
        at = f"encoder.block.{i}.layer"
        values |= {
            f"{at}.0.SelfAttention.{name}.weight": w["encoder_qkv"][i, j].T for j, name in enumerate("qkv")
        }
        values |= {
            f"{at}.0.SelfAttention.o.weight": w["encoder_out"][i].T,
            f"{at}.0.layer_norm.weight": w["encoder_norms"][i, 0],
            f"{at}.1.layer_norm.weight": w["encoder_norms"][i, 1],
            f"{at}.1.DenseReluDense.wi.weight": w["encoder_up"][i].T,
            f"{at}.1.DenseReluDense.wo.weight": w["encoder_down"][i].T,
        }
    for i in range(n["m"]):
        at = f"decoder.block.{i}.layer"
        values |= {f"{at}.0.SelfAttention.{name}.weight": w["qkv"][i, j].T for j, name in enumerate("qkv")}
        values |= {
            f"{at}.1.EncDecAttention.{name}.weight": w["cross"][i, j].T for j, name in enumerate("qkv")
        }
        values |= {
            f"{at}.0.SelfAttention.o.weight": w["out"][i].T,
            f"{at}.1.EncDecAttention.o.weight": w["cross_out"][i].T,
            f"{at}.2.DenseReluDense.wi.weight": w["up"][i].T,
            f"{at}.2.DenseReluDense.wo.weight": w["down"][i].T,
        }
        values |= {f"{at}.{j}.layer_norm.weight": w["norms"][i, j] for j in range(3)}
    # biases by distance are inputs of the program: none here, and the mask of the decoder as one
    for stack in ("encoder", "decoder"):
        values[f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = np.zeros(
            (32, n["h"])
        )
    model = put(transformers.T5ForConditionalGeneration(config), values)
    return Call(model, lambda m, ids, targets: m(input_ids=ids, decoder_input_ids=targets).logits), (
        w["ids"],
        w["targets"],
    )


def mamba(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    config = transformers.MambaConfig(
        vocab_size=n["v"],
        hidden_size=n["d"],
        state_size=n["n"],
        num_hidden_layers=n["l"],
        intermediate_size=n["w"],
        expand=n["w"] // n["d"],
        conv_kernel=n["k"],
        time_step_rank=n["q"],
        layer_norm_epsilon=1e-5,
        use_mambapy=False,
    )
    values = {"backbone.embeddings.weight": w["tokens"], "backbone.norm_f.weight": w["last"]}
    for i in range(n["l"]):
        names = {
            "norm.weight": w["norms"][i],
            "mixer.in_proj.weight": w["wide"][i].T,
            "mixer.conv1d.weight": w["taps"][i],
            "mixer.conv1d.bias": w["taps_bias"][i],
            "mixer.x_proj.weight": w["choose"][i].T,
            "mixer.dt_proj.weight": w["step"][i].T,
            "mixer.dt_proj.bias": w["step_bias"][i],
            "mixer.A_log": w["rates"][i],
            "mixer.D": w["skip"][i],
            "mixer.out_proj.weight": w["out"][i].T,
        }
        values |= {f"backbone.layers.{i}.{name}": value for name, value in names.items()}
    return put(transformers.MambaForCausalLM(config), values), (w["ids"],)


class Call(nn.Module):
    """A function of tensors as a module."""

    def __init__(self, model: nn.Module, how: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self.how = model, how

    def forward(self, *inputs: Any) -> Any:
        return self.how(self.model, *inputs)


def resnet(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    f = nn.functional
    t = {name: torch.tensor(value) for name, value in w.items()}

    def wide(x: Any, filters: Any, norm: Any) -> Any:
        return f.batch_norm(f.conv2d(x, filters, padding=1), norm[2], norm[3], norm[0], norm[1], eps=1e-5)

    def how(_: Any, image: Any) -> Any:
        x = f.relu(wide(image, t["stem"], t["stem_norm"]))
        for k in range(n["l"]):
            a = f.relu(wide(x, t["filters"][k, 0], t["norms"][k, 0]))
            x = f.relu(wide(a, t["filters"][k, 1], t["norms"][k, 1]) + x)
        return f.linear(x.mean((2, 3)), t["head"].T, t["head_bias"])

    return Call(nn.Identity(), how), (w["image"],)


def mixer(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    f = nn.functional
    t = {name: torch.tensor(value) for name, value in w.items()}
    d = n["d"]

    def how(_: Any, image: Any) -> Any:
        x = f.conv2d(image, t["patch"], t["patch_bias"], stride=n["p"]).flatten(2).transpose(1, 2)
        for k in range(n["l"]):
            norm = t["norms"][k]
            a = f.layer_norm(x, (d,), norm[0], norm[1], 1e-6).transpose(1, 2)
            a = f.linear(
                f.gelu(f.linear(a, t["across"][k].T, t["across_bias"][k])), t["back"][k].T, t["back_bias"][k]
            )
            x = x + a.transpose(1, 2)
            b = f.layer_norm(x, (d,), norm[2], norm[3], 1e-6)
            x = x + f.linear(
                f.gelu(f.linear(b, t["up"][k].T, t["up_bias"][k])), t["down"][k].T, t["down_bias"][k]
            )
        return f.linear(f.layer_norm(x, (d,), *t["last"], 1e-6).mean(1), t["head"].T, t["head_bias"])

    return Call(nn.Identity(), how), (w["image"],)


def lstm(n: dict[str, int], w: Weights) -> tuple[nn.Module, tuple[Any, ...]]:
    d = n["d"]
    cells = nn.LSTM(d, d, n["l"]).double()
    order = np.concatenate(
        [np.arange(d) + part * d for part in (0, 2, 3, 1)]
    )  # ONNX: i o f c; torch: i f c o
    with torch.no_grad():
        for k in range(n["l"]):
            first, second = w["bias"][k, 0, : 4 * d], w["bias"][k, 0, 4 * d :]
            for name, value in (
                ("weight_ih", w["input"][k, 0]),
                ("weight_hh", w["recurrent"][k, 0]),
                ("bias_ih", first),
                ("bias_hh", second),
            ):
                getattr(cells, f"{name}_l{k}").copy_(torch.tensor(value[order]))
    t = {name: torch.tensor(value) for name, value in w.items()}

    def how(model: Any, ids: Any) -> Any:
        return nn.functional.linear(model(t["tokens"][ids])[0], t["head"].T, t["head_bias"])

    return Call(cells, how), (w["ids"],)
