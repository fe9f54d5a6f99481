"""Trials of the programs on words, against Python's own."""

from __future__ import annotations

import numpy as np

from tools.textbook.holding import Array, Trial

Rng = np.random.Generator


def _word(letters: Array) -> str:
    return "".join(chr(96 + int(e)) for e in letters)


def naive_match(rng: Rng, size: int) -> Trial:
    m = int(rng.integers(1, 4))
    text, word = rng.integers(1, 3, size + m), rng.integers(1, 3, m)
    places = [_word(text).startswith(_word(word), i) for i in range(size + 1)]
    return Trial({"text": text, "word": word}, (places,), {"n": size})


def hamming(rng: Rng, size: int) -> Trial:
    a, b = rng.integers(0, 3, (2, size))
    return Trial({"a": a, "b": b}, ((a != b).sum(),))


def shift_and(rng: Rng, size: int) -> Trial:
    m = int(rng.integers(1, 4))
    text, word = rng.integers(1, 4, size), rng.integers(1, 4, m)
    mask = np.array([sum(1 << j for j in range(m) if word[j] == c) for c in (1, 2, 3)], np.uint32)
    ends = [_word(text)[: i + 1].endswith(_word(word)) for i in range(size)]
    return Trial({"text": text, "mask": mask}, (ends,), {"m": m})


def palindrome(rng: Rng, size: int) -> Trial:
    x = rng.integers(0, 2, size)
    return Trial({"x": x}, (_word(x) == _word(x)[::-1],))


def longest_common_substring(rng: Rng, size: int) -> Trial:
    a, b = rng.integers(1, 3, size), rng.integers(1, 3, int(rng.integers(1, 6)))
    parts = [_word(a)[i:j] for i in range(size) for j in range(i, size + 1)]
    return Trial({"a": a, "b": b}, (max(len(part) for part in parts if part in _word(b)),))


def rabin_karp(rng: Rng, size: int) -> Trial:
    m, q, base = int(rng.integers(1, 4)), 97, 10
    text = rng.integers(0, base, size + m + 1)
    hashes = [int("".join(map(str, text[i : i + m + 1]))) % q for i in range(size + 1)]
    lengths = {"n": size, "m": m, "q": q, "base": base, "lead": base**m}
    return Trial({"text": text}, (hashes,), lengths)


def knuth_morris_pratt(rng: Rng, size: int) -> Trial:
    """All places, one by one; few letters, so that a turn goes back far."""
    m = int(rng.integers(1, 5))
    text, pattern = rng.integers(1, 3, 3 * size), rng.integers(1, 3, m)
    places = sum(_word(text).startswith(_word(pattern), i) for i in range(3 * size))
    return Trial({"text": text, "pattern": pattern}, (places,))
