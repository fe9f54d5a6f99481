"""The corpus of ``tests/models/corpus``: exports of small models, without their weights.

    make corpus

makes what is not in ``build/corpus`` yet (both exporters of torch, converters of pipelines, onnxruntime's
quantiser and optimiser; an hour for all of it), runs each model with onnxruntime at two points, and writes
``models.tar.xz`` and what stands above the ``---`` of each case of the text files.  What tolcost says of a
model stands below it: ``TOLCOST_ACCEPT=1 pytest tests/models/test_corpus.py`` writes that.

    python -m tools.corpus NAME...

makes only these members anew.  Needs the environment of ``make models`` (torch, transformers, onnxruntime,
onnxscript, scikit-learn and the rest), and ``tools/benchmarks`` on Python's path.
"""
