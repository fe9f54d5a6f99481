"""A device that was measured by a few calls is one that ``--device`` takes."""

from fractions import Fraction

from tolcost.cli import run
from tolcost.cost.device import load_device
from tools.benchmarks.hardware.card import Machine, Measured, device_text

CALLS = [
    Measured("stream", "", 512, 3.0, 2.0),
    Measured("stream", "", 40_002_512, 10_002.0, 8000.0),
    Measured("normalise", "", 16_384, 7.0, 6.0),
    Measured("normalise", "", 268_435_456, 90_000.0, 89_000.0),
    *(
        Measured(pattern, space, amount, time, time)
        for pattern in ("product", "attention")
        for space in ("float32", "bfloat16")
        for amount, time in ((4096, 5.0), (10**9, 20_005.0))
    ),
]


def test_a_machine_becomes_a_device(tmp_path, capsys):
    text = device_text(Machine("mine", "a machine", 16 * 10**9, 1 << 25), "2026-11-19", CALLS)
    (tmp_path / "mine.toml").write_text(text, "utf-8")
    device = load_device(tmp_path / "mine.toml")
    assert device.fitted is not None
    assert device.fitted.bandwidth == 4000
    assert device.bytes == 5000  # the fastest that was seen
    assert device.macs["bfloat16"] == round(Fraction(10**9, 20_005))
    assert device.fitted.gap == device.fitted.stream.start  # no gap was measured
    assert "gap = 0.75" in device_text(Machine("mine", "", 1, 1), "2026-11-19", CALLS, 0.75)
    found = ["plan", "--model", "llama3.2-1b", "--prompt", "100", "--answer", "20"]
    assert run([*found, "--device", str(tmp_path / "mine.toml")]) == 0
    said = capsys.readouterr().out
    assert "time on mine" in said
    assert "fits" in said
