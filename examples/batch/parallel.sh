#!/bin/sh
# parallel.sh ZOO OUT PARTS: the parts of a batch by GNU parallel; --sshlogin spreads them.
set -eu
zoo=$1 out=$2 parts=$3
seq "$parts" | parallel --halt never onnx-export batch "$zoo" -o "$out" --shard "{}/$parts" --resume -q || true
exec onnx-export batch "$zoo" -o "$out" --merge --report "$out/report.jsonl" --report "$out/report.md"
