"""Record what GHC computes for the programs of ``specs/haskell``: ``python -m tools.specs.record_haskell``.

Each program names its expression in a comment (``# Haskell: ...``).  The expression is compiled with random
inputs.  Its outputs are written to ``reports/data/haskell.json``, beside the number of operations on numbers
that GHC applied: the methods of ``Eq``, ``Ord``, ``Num`` and ``Integral`` of the elements' type count.  Needs
``ghc`` and ``libghc-vector-dev`` of Debian.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from tools.specs.declared import Declared, read_declared

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "specs" / "haskell"
RECORD = ROOT / "reports" / "data" / "haskell.json"
CASES = 12
_LONGEST = 6

Inputs = dict[str, Any]

_PRELUDE = """\
module Main where
import Data.IORef
import Data.List
import Data.Maybe
import qualified Data.Vector as V
import System.IO.Unsafe (unsafePerformIO)

newtype C = C Int

{-# NOINLINE counter #-}
counter :: IORef Int
counter = unsafePerformIO (newIORef 0)

{-# NOINLINE tick #-}
tick :: a -> a
tick result = unsafePerformIO (modifyIORef' counter (+ 1) >> return result)

instance Eq C where
  C a == C b = tick (a == b)
  C a /= C b = tick (a /= b)
instance Ord C where
  compare (C a) (C b) = tick (compare a b)
  C a < C b = tick (a < b)
  C a <= C b = tick (a <= b)
  C a > C b = tick (a > b)
  C a >= C b = tick (a >= b)
  max (C a) (C b) = tick (C (max a b))
  min (C a) (C b) = tick (C (min a b))
instance Num C where
  C a + C b = tick (C (a + b))
  C a - C b = tick (C (a - b))
  C a * C b = tick (C (a * b))
  negate (C a) = tick (C (negate a))
  abs (C a) = tick (C (abs a))
  signum (C a) = tick (C (signum a))
  fromInteger a = C (fromInteger a)
instance Real C where
  toRational (C a) = toRational a
instance Enum C where
  toEnum = C
  fromEnum (C a) = a
instance Integral C where
  quotRem (C a) (C b) = let (q, r) = quotRem a b in tick (C q, C r)
  mod (C a) (C b) = tick (C (mod a b))
  toInteger (C a) = toInteger a

class Shown a where shown :: a -> String
instance Shown C where shown (C a) = show a
instance Shown Int where shown = show
instance Shown Bool where shown b = if b then "true" else "false"
instance Shown a => Shown [a] where shown a = "[" ++ intercalate "," (map shown a) ++ "]"
instance (Shown a, Shown b) => Shown (a, b) where shown (a, b) = "[" ++ shown a ++ "," ++ shown b ++ "]"
instance (Shown a, Shown b, Shown c) => Shown (a, b, c) where
  shown (a, b, c) = "[" ++ shown a ++ "," ++ shown b ++ "," ++ shown c ++ "]"

-- what the programs of vector are written with, none of which counts
v :: [a] -> V.Vector a
v = V.fromList
l :: V.Vector a -> [a]
l = V.toList
int :: Int -> C
int = C
place :: C -> Int -> Int
place (C a) n = a `mod` n

run :: String -> IO ()
run text = do
  writeIORef counter 0
  let size = length text
  size `seq` readIORef counter >>= \\n -> putStrLn ("[" ++ text ++ "," ++ show n ++ "]")

"""


class HaskellProgram(Struct, frozen=True):
    """A program of ``specs/haskell``: its path in the folder, what it is in Haskell, and its inputs."""

    name: str
    haskell: str
    inputs: tuple[Declared, ...]
    lengths: dict[str, str]

    @property
    def function(self) -> str:
        """The name of the function in the program that GHC compiles."""
        return "program_" + self.name.replace(".", "_")


def read_programs() -> Iterator[HaskellProgram]:
    """Read every program that names its expression."""
    for path in sorted(PROGRAMS.rglob("*.tol")):
        text = path.read_text("utf-8")
        haskell = re.search(r"^# Haskell: (.*)$", text, re.M)
        assert haskell is not None, f"{path} names no expression"
        inputs = read_declared(text)
        named = {length for one in inputs for length in one.shape}
        lengths = {one.name: one.space for one in inputs if one.name in named}
        given = tuple(one for one in inputs if one.name not in named)
        yield HaskellProgram(str(path.relative_to(PROGRAMS)).removesuffix(".tol"), haskell[1], given, lengths)


def draw(program: HaskellProgram, number: int, rng: random.Random) -> Inputs:
    """Draw inputs: first the shortest lists, then random ones, half of them with many equal entries."""
    top = 2 if number % 2 else 9
    bottom = 0 if number % 4 == 1 else -4
    named = {length for one in program.inputs for length in one.shape}
    least = {name: 0 if program.lengths.get(name) == "N" else 1 for name in named}
    dims = {
        name: int(name) if name.isdigit() else low if number < 1 else rng.randint(low, _LONGEST)
        for name, low in sorted(least.items())
    }

    def value(space: str, shape: tuple[int, ...]) -> Any:
        if shape:
            return [value(space, shape[1:]) for _ in range(shape[0])]
        return rng.random() < 0.7 if space == "B" else rng.randint(bottom, top)

    shortest = min((dims[name] for name in dims), default=_LONGEST)
    given: Inputs = {}
    for one in program.inputs:
        if not one.attribute:
            given[one.name] = value(one.space, tuple(dims[name] for name in one.shape))
        elif one.space == "N*":
            given[one.name] = rng.randint(1, max(shortest, 1))
        else:
            given[one.name] = rng.randint(0, 4)
    lists = [one for one in program.inputs if len(one.shape) == 1]
    if (
        number % 3 == 2
        and [one.name for one in lists] == ["x", "y"]
        and len({*lists[0].shape, *lists[1].shape}) == 2
    ):
        around = [value("Z", (rng.randint(0, 1),)) for _ in range(2)]
        given["y"] = [*around[0], *given["x"], *around[1]]
    return given


def haskell_type(one: Declared) -> str:
    """Give the type of an input in Haskell."""
    element = {"Z": "C", "B": "Bool"}.get(one.space, "Int")
    return "[" * len(one.shape) + element + "]" * len(one.shape)


def literal(value: Any, element: str) -> str:
    """Write a value in Haskell; a number by its constructor, since the sign of a literal is an operation."""
    if isinstance(value, list):
        return "[" + ", ".join(literal(one, element) for one in value) + "]"
    return f"(C ({value}))" if element == "Z" else str(value)


def haskell_source(drawn: list[tuple[HaskellProgram, list[Inputs]]]) -> str:
    """Write a program in Haskell that prints the outputs of every case and the operations that it took."""
    parts = [_PRELUDE]
    runs = []
    for program, cases in drawn:
        types = " -> ".join(haskell_type(one) for one in program.inputs)
        names = " ".join(one.name for one in program.inputs)
        parts.append(f"{program.function} :: {types} -> String")
        parts.append(f"{program.function} {names} = shown ({program.haskell})\n")
        for given in cases:
            values = " ".join(literal(given[one.name], one.space) for one in program.inputs)
            runs.append(f"  run ({program.function} {values})")
    return "\n".join([*parts, "main :: IO ()", "main = do", *runs, ""])


def run_haskell(source: str) -> list[str]:
    """Compile and run a program; return its lines."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "Main.hs"
        file.write_text(source, encoding="utf-8")
        options = ["-O0", "-fno-cse", "-fno-full-laziness", "-package", "vector", "-o", f"{folder}/main"]
        subprocess.run(["ghc", *options, str(file)], check=True, stdout=subprocess.DEVNULL)
        return subprocess.run(
            [f"{folder}/main"], check=True, capture_output=True, text=True
        ).stdout.splitlines()


def record_text(drawn: list[tuple[HaskellProgram, list[Inputs]]], lines: list[str]) -> str:
    """Write the record: a line for each case, with its inputs, outputs and GHC's operations."""
    version = subprocess.run(
        ["ghc", "--numeric-version"], check=True, capture_output=True, text=True
    ).stdout.strip()
    results = iter(lines)
    blocks = []
    for program, cases in drawn:
        rows = []
        for given in cases:
            outputs, operations = json.loads(next(results))
            row = {"inputs": given, "outputs": outputs, "operations": operations}
            rows.append("   " + json.dumps(row, separators=(",", ":")))
        head = f'  {json.dumps(program.name)}: {{"haskell": {json.dumps(program.haskell)}, "cases": [\n'
        blocks.append(head + ",\n".join(rows) + "]}")
    return f'{{"ghc": "{version}", "programs": {{\n' + ",\n".join(blocks) + "\n}}\n"


def main(arguments: list[str]) -> int:
    """Draw inputs, run GHC and write the record."""
    parser = argparse.ArgumentParser(prog="python -m tools.specs.record_haskell", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    drawn = []
    for program in read_programs():
        rng = random.Random(f"{asked.seed} {program.name}")
        drawn.append((program, [draw(program, number, rng) for number in range(CASES)]))
    RECORD.write_text(record_text(drawn, run_haskell(haskell_source(drawn))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
