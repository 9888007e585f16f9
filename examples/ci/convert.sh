#!/bin/sh
# convert.sh MODELS: converts and verifies the folder, writes reports/, and fails where a model got worse.
set -eu
models=$1
mkdir -p reports
set -- batch "$models" -o onnx --force --verify --root . \
  --report reports/models.jsonl --report reports/models.xml --report reports/models.sarif --report reports/models.md
[ ! -e "$models/baseline.jsonl" ] || set -- "$@" --baseline "$models/baseline.jsonl"
exec onnx-export "$@"
