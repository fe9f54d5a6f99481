"""Write what transformers takes for keys that a configuration does not have.

    python -m tools.serving.defaults

It needs transformers. Configurations inside of others leave out what is as these say.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path

from tolcost.apps.plan.door import family_of, type_names

ALIASES = ("bert", "bloom", "falcon", "gpt2", "gpt_bigcode", "mpt", "rwkv", "t5", "whisper")
"""Types that have several names for a key, of which a default would hide the others; none comes inside."""
FILE = Path(__file__).parents[2] / "specs" / "serving" / "defaults.json"


def main() -> None:
    """Write the file."""
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    types = {}
    for name in type_names():
        if name not in CONFIG_MAPPING or name in ALIASES:
            continue
        told = inspect.signature(CONFIG_MAPPING[name].__init__).parameters
        keys = sorted(family_of(name).keys & told.keys())
        values = {key: told[key].default for key in keys}
        types[name] = {key: value for key, value in values.items() if type(value) in (int, float, str, bool)}
    lines = [f"    {json.dumps(name)}: {json.dumps(keys)}" for name, keys in types.items()]
    text = ",\n".join(lines)
    head = f'  "transformers": {json.dumps(transformers.__version__)},\n  "types": {{\n'
    FILE.write_text(f"{{\n{head}{text}\n  }}\n}}\n", "utf-8")


if __name__ == "__main__":
    main()
