# An image with onnx-export: the wheel is built on Debian 12 and installed beside LibTorch.
#
#   docker build -t onnx-export .
#   docker run --rm -v "$PWD:/work" -u "$(id -u):$(id -g)" onnx-export model.pt
#
# PIP_ARGS goes to pip. --build-arg PIP_ARGS="--extra-index-url ADDRESS" with PyTorch's index of CPU
# builds makes a smaller image: pip prefers 2.13.0+cpu to 2.13.0.
FROM debian:12-slim AS build
ENV LC_ALL=C.UTF-8
WORKDIR /source
COPY . .
RUN scripts/wheel

FROM debian:12-slim
ARG PIP_ARGS=""
# The versions are those of Debian 12.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates python3-venv \
  && rm -rf /var/lib/apt/lists/* \
  && python3 -m venv /opt/onnx-export
COPY --from=build /source/dist /tmp/dist
# PIP_ARGS is several words.
# hadolint ignore=SC2086
RUN /opt/onnx-export/bin/pip install --no-cache-dir $PIP_ARGS /tmp/dist/*.whl \
  && rm -rf /tmp/dist
WORKDIR /work
ENTRYPOINT ["/opt/onnx-export/bin/onnx-export"]
CMD ["--help"]
