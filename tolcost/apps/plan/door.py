"""From a configuration, as repositories of models have it, to a program and its lengths.

``specs/serving/types.toml`` says how: for each ``model_type`` the program, and for each length and attribute
an expression over the keys of the configuration.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher, get_close_matches
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.apps.plan.expressions import WrongValue, exact, keys_of, other_names, value_of
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Source, Span, quoted, refuse, unreadable
from tolcost.platform import specs_root

_MOST_BYTES = 1 << 20
_MOST_LAYERS = 1 << 16
"""Layers, above all: they are looked at one by one where they are of several kinds."""
_MOST = 1 << 31
"""No length of a model comes near to this."""


class Family(Struct, frozen=True, eq=False):
    """How a type of models is read: its program, and an expression for each length and attribute."""

    name: str
    program: str
    lengths: Mapping[str, str]
    attrs: Mapping[str, Any]
    only: Mapping[str, list[Any]]
    equal: Mapping[str, str]
    harmless: frozenset[str]
    reading: Mapping[str, Any]
    """The attributes that differ where a prompt is read."""
    answers: bool = True
    """Whether it makes tokens; an encoder by itself reads only."""
    source: bool = False
    """Whether an encoder reads the prompt, and another part makes the answer."""
    note: str = ""
    """What a reader should know about the figures."""

    @property
    def whole(self) -> bool:
        """Whether a prompt is read at once, and not in pieces: attention goes both ways."""
        return self.source or not self.answers or "encoding" in self.reading

    @property
    def keys(self) -> frozenset[str]:
        """The keys of a configuration that decide something."""
        texts = [*self.lengths.values(), *self.equal.values(), *self.only]
        for value in self.attrs.values():
            texts += (
                [value["of"]] if isinstance(value, Mapping) else [value] if isinstance(value, str) else []
            )
        return frozenset(self.equal).union(*map(keys_of, texts))


class PlannedModel(Struct, frozen=True, eq=False):
    """A model as its configuration tells it: a program, numbers for its lengths, and its attributes."""

    name: str
    family: Family
    lengths: Mapping[str, int]
    attrs: Mapping[str, str | bool]
    longest: int | None
    """The longest context that the configuration allows, if it says so."""
    notes: tuple[str, ...] = ()
    weights: str | None = None
    """How its parameters are kept, as a scheme, if the configuration says so."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The configuration itself."""


@cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads(specs_root().joinpath("serving", "types.toml").read_text(encoding="utf-8"))


@cache
def _defaults() -> Mapping[str, Mapping[str, Any]]:
    """Return what transformers takes for keys that a configuration does not have, by type."""
    text = specs_root().joinpath("serving", "defaults.json").read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, Any]] = json.loads(text)["types"]
    return found


def type_names() -> tuple[str, ...]:
    """Return every ``model_type`` that is known, sorted."""
    return tuple(sorted(_file()["types"]))


def family_of(name: str) -> Family:
    """Return how a type of models is read.

    >>> family_of("qwen3").program
    'decoder'
    """
    known = _file()["types"]
    chain = [known[name]]
    while "like" in chain[-1]:
        chain.append(known[chain[-1]["like"]])

    def merged(part: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for one in reversed(chain):
            found |= one.get(part, {})
        return found

    return Family(
        name, chain[-1]["program"], merged("lengths"), merged("attrs"), merged("only"), merged("equal"),
        frozenset(merged("harmless").get("keys", ())), merged("reading"),
        chain[-1].get("answers", True), chain[-1].get("source", False), merged("note").get("text", ""),
    )  # fmt: skip


def shipped_models() -> tuple[str, ...]:
    """Return the names of the configurations that come with tolcost, sorted."""
    folder = specs_root().joinpath("serving", "models")
    names = (file.name for file in folder.iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))


def shipped_model(name: str) -> PlannedModel:
    """Return a model whose configuration comes with tolcost.

    >>> shipped_model("llama3-8b").lengths["l"]
    32
    """
    if name not in shipped_models():
        near = get_close_matches(name[:60], shipped_models(), n=1)
        hint = f"did you mean {quoted(near[0])}?" if near else f"there are {', '.join(shipped_models())}"
        refuse("T0920", f"no model called {quoted(name)} comes with tolcost", hint=hint)
    text = specs_root().joinpath("serving", "models", f"{name}.json").read_text(encoding="utf-8")
    return model_in(json.loads(text), name)


def model_named(given: str | Path, ignored: Iterable[str] = (), like: str | None = None) -> PlannedModel:
    """Return a model by its configuration, or by its name where no file is called so."""
    if like is None and str(given) in shipped_models() and not Path(given).exists():
        return shipped_model(str(given))
    return model_at(given, ignored, like)


def model_at(path: str | Path, ignored: Iterable[str] = (), like: str | None = None) -> PlannedModel:
    """Read a configuration: a file, or a folder with a ``config.json``."""
    file = Path(path)
    try:
        if file.is_dir():
            file = file / "config.json"
        with file.open("rb") as opened:  # what is no file may have no size, and no end
            read = opened.read(_MOST_BYTES + 1)
        if len(read) > _MOST_BYTES:
            refuse("T0920", f"{quoted(str(file))}: a configuration has at most {_MOST_BYTES:,} bytes")
        source = Source(str(file), read.decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        hint = f"a file or a folder with one, or --model {shipped_models()[0]}"
        refuse("T0920", f"cannot read the configuration {quoted(str(file))}: {unreadable(error)}", hint=hint)
    name = file.parent.name if file.name == "config.json" else file.stem
    try:
        return model_in(_json(source), name or file.stem, ignored, like)
    except Rejected as rejected:
        raise Rejected(*(_placed(one, source) for one in rejected.diagnostics)) from None


def _json(source: Source) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
            refuse("T0920", f"the configuration has `{twice}` twice, and it is not known which one counts")
        return found

    try:
        return json.loads(source.text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        at = Span(source, error.pos, error.pos + 1)
        raise Rejected(Diagnostic("T0920", f"this is no JSON: {error.msg}", at)) from error
    except RecursionError as error:
        raise Rejected(Diagnostic("T0920", "this is JSON within JSON, too deep to be read")) from error
    except ValueError as error:
        raise Rejected(Diagnostic("T0920", "this has a number of thousands of digits")) from error


def _placed(one: Diagnostic, source: Source) -> Diagnostic:
    """Return a diagnostic with its place: the key that it names first, or the beginning of the file."""
    if one.span is not NOWHERE:
        return one
    places = (source.text.find(f'"{key}"') for key in re.findall(r"`([^`]+)`", one.message))
    at = next((place for place in places if place >= 0), None)
    end = 1 if at is None else source.text.index('"', at + 1) + 1
    return replace(one, span=Span(source, at or 0, end))


def model_in(raw: Any, name: str, ignored: Iterable[str] = (), like: str | None = None) -> PlannedModel:
    """Read a configuration that is in memory; ``like`` is the type as which it is read, if not its own."""
    if not isinstance(raw, dict) or not all(isinstance(key, str) for key in raw):
        refuse("T0920", f"the configuration of {quoted(name)} is no object with keys")
    said: list[str] = []
    kind = raw.get("model_type")
    outer = quoted(kind) if isinstance(kind, str) else "it"
    inner = raw.get("text_config")
    is_inside = isinstance(inner, dict) and kind not in type_names()
    if isinstance(inner, dict) and is_inside:
        said.append(f"the part that reads text; what else {outer} has is left out")
        raw, kind = {"tie_word_embeddings": raw.get("tie_word_embeddings"), **inner}, inner.get("model_type")
    if like is not None:
        said.append(f"read as `{like}`, which may be another model than {outer}")
        kind = like
    if not isinstance(kind, str):
        hint = 'a `config.json` of transformers has one, such as "llama"'
        refuse("T0921", f"the configuration of {quoted(name)} has no `model_type`", hint=hint)
    if kind not in type_names():
        _refuse_type(kind, raw)
    family = family_of(kind)
    _check_keys(family, raw, frozenset(ignored))
    filled = _filled(family, raw)
    given = filled if is_inside else raw
    lengths = {}
    for key, text in family.lengths.items():
        told = _length(key, text, given, family)
        lengths[key] = told if given is filled else _length(key, text, filled, family)
    attrs = {key: _attribute(key, value, filled, family) for key, value in family.attrs.items()}
    _check_lengths(lengths, kind)
    _check_layers(family, given, lengths)
    if taken := _taken(family, raw, filled):
        said.append(f"as transformers takes it where nothing is said: {taken}")
    longest = next((_positive(key, raw[key]) for key in _LONGEST if raw.get(key) is not None), None)
    weights = _told(_file()["quantised"], raw)
    said += [family.note] if family.note else []
    if weights is not None:
        said.append(f"the configuration says that parameters are in {weights}")
    return PlannedModel(name, family, lengths, attrs, longest, tuple(said), weights, given)


_LONGEST = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")


def _filled(family: Family, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with what transformers takes where nothing is said, under no name."""
    texts = [*family.lengths.values(), *(value for value in family.attrs.values() if isinstance(value, str))]
    groups = [names for text in texts for names in other_names(text) if not names.isdisjoint(raw)]
    hidden = frozenset[str]().union(*groups)
    usual = {key: value for key, value in _defaults().get(family.name, {}).items() if key not in hidden}
    return {**usual, **raw}


def _taken(family: Family, raw: Mapping[str, Any], filled: Mapping[str, Any]) -> str:
    """Name what is not in a configuration and decides a length."""
    used = set[str]()
    for text in family.lengths.values():
        if _told(text, raw) != _told(text, filled):
            used |= {key for key in keys_of(text) if key not in raw and key in filled}
    return ", ".join(f"{key} {filled[key]}" for key in sorted(used))


def _refuse_type(kind: str, raw: Mapping[str, Any]) -> None:
    """Refuse a type that is not there, with the one that has most of its keys, and fewest others."""
    harmless = frozenset(_file()["harmless"])

    def strange(name: str) -> list[str]:
        family = family_of(name)
        known = family.keys | family.harmless | harmless
        return [key for key in raw if key not in known and raw[key] is not None]

    def distance(name: str) -> tuple[int, float]:
        own = family_of(name).keys
        read = own & raw.keys()
        lacking = len(own) - len(read) if read else 0
        return len(strange(name)) + lacking - len(read), -SequenceMatcher(None, kind[:60], name).ratio()

    near = min(type_names(), key=distance)
    more = strange(near)
    listed = ", ".join(map(quoted, more[:4])) + (" and more" if len(more) > 4 else "")
    but = f", but for {listed}" if more else ""
    hint = (
        f"the nearest is `{near}`, which knows its keys{but}: --like {near}; "
        "docs/planning.md says how to write a type"
    )
    refuse("T0921", f"there is no family for the model type {quoted(kind)}", hint=hint)


def _check_keys(family: Family, raw: Mapping[str, Any], ignored: frozenset[str]) -> None:
    """Refuse keys that nothing is known about: they may change what the model costs."""
    known = family.keys | family.harmless | frozenset(_file()["harmless"]) | ignored
    if _told(_file()["quantised"], raw) is not None:
        known |= {"quantization_config"}
    strange = [key for key in raw if key not in known and raw[key] is not None]
    if strange:
        which = ", ".join(map(quoted, strange[:5])) + (" and more" if len(strange) > 5 else "")
        each = " ".join(f"--ignore {key}" for key in strange[:8])
        hint = f"if {'they change' if strange[1:] else 'it changes'} neither sizes nor computation: {each}"
        if strange == ["quantization_config"]:
            hint = f"it is read for {_QUANTISED}; otherwise: {each} --weights int4"
        refuse("T0922", f"what {which} would change in `{family.name}` is not known", hint=hint)
    for key, values in family.only.items():
        found = _told(key, raw)
        if found is not None and found not in [exact(value) for value in values]:
            allowed = " or ".join(json.dumps(value) for value in values)
            refuse("T0922", f"`{family.name}` is known with `{key}` {allowed}, not {_short(found)}")
    for key, text in family.equal.items():
        if key in raw and raw[key] is not None and _told(text, raw) != raw[key]:
            refuse("T0922", f"`{family.name}` is known where `{key}` is `{text}`")


_QUANTISED = "fp8, mxfp4, nf4 of bitsandbytes, and AWQ and GPTQ in groups of 32, 64 and 128"


def _told(text: str, raw: Mapping[str, Any]) -> Any:
    """Evaluate an expression over a configuration; a key that it cannot use is refused."""
    try:
        return value_of(text, raw)
    except WrongValue as wrong:
        refuse("T0923", f"`{wrong.key}` of the configuration: {wrong}")


def _length(key: str, text: str, raw: Mapping[str, Any], family: Family) -> int:
    found = _told(text, raw)
    if found is None:
        lacking = sorted(one for one in keys_of(text) if raw.get(one) is None)
        refuse("T0923", f"the configuration lacks {' or '.join(f'`{one}`' for one in lacking)}")
    said = f"`{text}`" if text.isidentifier() else f"`{text}`, the length {key},"
    if isinstance(found, bool) or not isinstance(found, Fraction):
        refuse("T0923", f"{said} is {_short(found)} in the configuration, and not a number")
    if found.denominator != 1 or not 0 <= found <= _MOST:
        shown = int(found) if found.denominator == 1 else float(found)
        refuse("T0923", f"{said} comes to {shown}, which is no length of a model")
    return int(found)


def _attribute(key: str, value: Any, raw: Mapping[str, Any], family: Family) -> str | bool:
    if isinstance(value, Mapping):
        found = _told(value["of"], raw)
        choices = {name: meaning for name, meaning in value.items() if name != "of"}
        if not isinstance(found, str) or found not in choices:
            known = ", ".join(choices)
            refuse("T0923", f"`{value['of']}` is {_short(found)}, and known are {known}")
        return str(choices[found])
    found = _told(value, raw) if isinstance(value, str) else value
    own = isinstance(value, str) and isinstance(found, str) and f"'{found}'" in value
    if isinstance(found, bool):
        return found
    if not own:
        refuse("T0923", f"`{value}` is {_short(found)} in the configuration, and decides `{key}`")
    return str(found)


def _check_lengths(lengths: Mapping[str, int], kind: str) -> None:
    """Refuse numbers that no model has: heads that are 0, more layers than can be looked at."""
    for key, number in lengths.items():
        if number == 0 and key not in _MAY_BE_0:
            refuse("T0923", f"the length {key} of `{kind}` is 0")
        if key in ("l", "m", "a") and number > _MOST_LAYERS:
            refuse("T0923", f"{number:,} layers are more than any model has")
    if lengths.get("taken", 0) > lengths.get("y", lengths.get("taken", 0)):
        refuse("T0923", f"{lengths['taken']} experts are chosen of {lengths['y']}")
    for part in ("m", "a"):
        if lengths.get(part, 0) > lengths.get("l", _MOST_LAYERS):
            refuse("T0923", f"{lengths[part]} of {lengths['l']} layers cannot be of one kind")


def _check_layers(family: Family, raw: Mapping[str, Any], lengths: Mapping[str, int]) -> None:
    """Refuse kinds of layers that are not known, and not as many as there are layers."""
    found = raw.get("layer_types")
    if found is None or "layer_types" not in family.keys:
        return
    known = {"full_attention"}.union(*(_KINDS.findall(text) for text in family.lengths.values()))
    known |= {"linear_attention"} if family.program == "linear" else set()
    strange = next((one for one in found if one not in known), None) if isinstance(found, list) else found
    if strange is not None:
        refuse("T0923", f"`layer_types` has {_short(strange)}, and known are {', '.join(sorted(known))}")
    if len(found) != lengths["l"]:
        refuse("T0923", f"`layer_types` has {len(found):,} kinds for {lengths['l']:,} layers")


_KINDS = re.compile(r"count\(layer_types, '(\w+)'\)")


def _positive(key: str, value: Any) -> int:
    if type(value) is not int or value < 1:
        refuse("T0923", f"`{key}` is {_short(value)} in the configuration, and no number of tokens")
    return value


_MAY_BE_0 = ("m", "a", "u", "t", "o")


def _short(value: Any) -> str:
    try:
        text = json.dumps(value, default=str)
    except (ValueError, TypeError):  # what is in itself, and keys that are no text
        text = str(value)
    return quoted(text if len(text) <= 40 else f"{text[:37]}...")
