"""Cases of ``com.microsoft`` operators, drawn at random, with what onnxruntime gives for them.

    python -m tools.generate.contrib [OPERATOR ...]

writes ``specs/com.microsoft/recorded/`` and ``schemas.json``; it needs onnxruntime, which is no dependency.
What is recorded is read back by ``tolcost/catalogue/cases.py``.
"""
