# An image with the command: docker build -t tolcost . && docker run --rm -v "$PWD:/work" tolcost model model.onnx
FROM python:3.12-slim AS built
COPY . /source
RUN python3 -m venv /tolcost && /tolcost/bin/pip install --no-cache-dir --constraint /source/constraints.txt /source

FROM python:3.12-slim
COPY --from=built /tolcost /tolcost
ENV PATH=/tolcost/bin:$PATH
# Files that it writes into a mounted folder belong to whoever runs it with --user; nothing here needs root.
USER nobody
WORKDIR /work
ENTRYPOINT ["tolcost"]
