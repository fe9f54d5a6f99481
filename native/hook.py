"""What hatchling runs when a wheel is built with ``HATCH_BUILD_HOOKS_ENABLE=1``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledParts(BuildHookInterface[Any]):  # type: ignore[misc]  # seen where it is installed only
    """Adds the extensions to a wheel, which then fits one kind of machine and of Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile in a copy; an editable install stays as it is, so that edits take effect."""
        if version == "editable":
            return
        self.copy = tempfile.TemporaryDirectory(prefix="tolcost-native-")  # until the wheel is written
        copy = Path(self.copy.name)
        subprocess.run([sys.executable, "-m", "native", str(copy)], cwd=self.root, check=True)
        sys.path.insert(0, self.root)
        from native.tree import extensions_of

        build_data["force_include"].update({str(copy / file): str(file) for file in extensions_of(copy)})
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
