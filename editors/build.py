"""Builds what editors install: the TextMate grammar, from the words of the language, and the extension.

python editors/build.py grammar     writes the grammar
python editors/build.py vsix        bundles the extension into build/tolang.vsix (needs node and npm)
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

from tolcost.apps.editor.features import Kind, words

HERE = Path(__file__).resolve().parent
CODE = HERE / "vscode"
GRAMMAR = CODE / "syntaxes" / "tolang.tmLanguage.json"
TARGET = HERE.parent / "build" / "tolang.vsix"
TYPES = {
    ".json": "application/json",
    ".js": "application/javascript",
    ".md": "text/markdown",
    ".vsixmanifest": "text/xml",
    ".txt": "text/plain",
}


def _any(*kinds: Kind) -> str:
    names = sorted(
        entry.word for entry in words().values() if entry.kind in kinds and entry.word.isidentifier()
    )
    return rf"\b(?:{'|'.join(map(re.escape, names))})\b"


def grammar() -> str:
    """The TextMate grammar."""
    keywords = "|".join(sorted(entry.word for entry in words().values() if entry.kind == "keywords"))
    patterns = [
        ("comment.line.number-sign", r"(?:#|//).*$"),
        ("string.quoted.double", r'"(?:[^"\\]|\\.)*"'),
        (
            "keyword.declaration",
            rf"(?:^|(?<=\s))(?:operator|space|list|{keywords})(?=[ \t]+[^\W\d])|\btol(?=[ \t]*\[)",
        ),
        ("keyword.operator.word", r"\b(?:and|or|xor|not)\b"),
        ("storage.type", r"\b[NZQR][*+\-](?=\s*(?:[,)\]\[]|$))|" + _any("spaces")),
        ("constant.language", _any("constants")),
        ("support.function", r"part'|" + _any("primitives", "functions")),
        ("entity.name.function", r"[^\W\d]\w*(?=\s*\()"),
        ("variable.other", r"[^\W\d]\w*"),
        ("constant.numeric", r"[0-9]+(?:\.(?!\.)[0-9]*)?(?:[eE][+\-]?[0-9]+)?"),
        ("keyword.operator", r":=|=>|==|!=|<=|>=|\.\.\.?|[=<>+\-*/%^?]"),
    ]
    rules = [{"name": f"{name}.tolang", "match": pattern} for name, pattern in patterns]
    return (
        json.dumps(
            {"name": "ToLang", "scopeName": "source.tolang", "fileTypes": ["tol"], "patterns": rules},
            indent=2,
        )
        + "\n"
    )


def vsix() -> None:
    """The extension as one file."""
    if not (CODE / "node_modules" / "vscode-languageclient").is_dir():
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=CODE, check=True)
    esbuild = ["node", str(CODE / "node_modules" / "esbuild" / "bin" / "esbuild")]
    options = [
        "--bundle",
        "--platform=node",
        "--format=cjs",
        "--minify",
        "--external:vscode",
        "--log-level=warning",
    ]
    bundled = CODE.parents[1] / "build" / "extension.js"
    bundled.parent.mkdir(exist_ok=True)
    subprocess.run([*esbuild, "src/extension.js", *options, f"--outfile={bundled}"], cwd=CODE, check=True)
    files = {
        f"extension/{name}": (CODE / name).read_bytes()
        for name in ("package.json", "README.md", "language-configuration.json")
    }
    files["extension/syntaxes/tolang.tmLanguage.json"] = GRAMMAR.read_bytes()
    files["extension/extension.js"] = bundled.read_bytes()
    files["extension/LICENSE.txt"] = (HERE.parent / "LICENSE").read_bytes()
    files["extension.vsixmanifest"] = _manifest().encode()
    files["[Content_Types].xml"] = _types().encode()
    with zipfile.ZipFile(TARGET, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def _manifest() -> str:
    """What an extension says of itself, from its package.json."""
    said = json.loads((CODE / "package.json").read_text("utf-8"))
    identity = " ".join(
        f"{key}={quoteattr(value)}"
        for key, value in (
            ("Language", "en-US"),
            ("Id", said["name"]),
            ("Version", said["version"]),
            ("Publisher", said["publisher"]),
        )
    )
    engine = quoteattr(said["engines"]["vscode"])
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">\n'
        f"<Metadata><Identity {identity}/><DisplayName>{said['displayName']}</DisplayName>"
        f'<Description xml:space="preserve">{said["description"]}</Description><Tags>tolang</Tags>'
        "<Categories>Programming Languages</Categories>"
        f'<Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/></Properties>'
        "<License>extension/LICENSE.txt</License></Metadata>\n"
        '<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/>\n'
        f"<Assets>{_asset('Code.Manifest', 'package.json')}{_asset('Services.Content.Details', 'README.md')}"
        "</Assets></PackageManifest>\n"
    )


def _asset(kind: str, file: str) -> str:
    return f'<Asset Type="Microsoft.VisualStudio.{kind}" Path="extension/{file}" Addressable="true"/>'


def _types() -> str:
    rows = "".join(f'<Default Extension="{ending}" ContentType="{kind}"/>' for ending, kind in TYPES.items())
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{rows}</Types>\n'


if __name__ == "__main__":
    if sys.argv[1:] == ["grammar"]:
        GRAMMAR.write_text(grammar(), "utf-8")
    elif sys.argv[1:] == ["vsix"]:
        vsix()
    else:
        sys.exit(__doc__)
