#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Beds for weighing models: an environment with the newest ONNX Runtime and the packages that write models
# (onnx), older runtimes (ort), the real models (models) and those whose truth is known (models_built).
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

packages=(numpy onnx onnxruntime safetensors)
make_bed() {
  local python
  python=$(pyenv_python 3.11)
  "${python:-python3}" -m venv "$1"
  timeout 600 "$1/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  ls "$1"/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*
}
with_bed onnx "${packages[*]}"

# The oldest that tare takes, one that it refuses, and the first whose wheel holds a library. Wheels before
# 1.19 hold none, so the first two come from the package for Node.js.
node=(1.16.3 1.15.1)
wheel=1.19.2
make_bed() {
  local version
  mkdir "$1/$wheel"
  timeout 300 "$CACHE/onnx/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --python-version 3.11 --dest "$1/$wheel" "onnxruntime==$wheel"
  python3 -m zipfile -e "$1/$wheel"/*.whl "$1/$wheel/unpacked"
  mv "$1/$wheel"/unpacked/onnxruntime/capi/libonnxruntime.so.* "$1/$wheel/"
  rm -r "$1/$wheel/unpacked" "$1/$wheel"/*.whl
  for version in "${node[@]}"; do
    mkdir "$1/$version"
    (
      cd "$1/$version"
      timeout 300 npm pack --silent "onnxruntime-node@$version"
      tar -xzf ./*.tgz --strip-components=5 --wildcards "package/bin/napi-v3/linux/$arch/libonnxruntime.so.*"
      rm ./*.tgz
    )
  done
  ls "$1"/*
}
case $(uname -m) in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) die "no older ONNX Runtime for $(uname -m)" ;; esac
command -v npm >/dev/null || node=()
with_bed ort "$wheel ${node[*]}"

make_bed() {
  timeout 600 "$CACHE/onnx/bin/python" tests/models/fetch.py --cache "$1"
  timeout 300 "$CACHE/onnx/bin/python" tests/models/minilm.py --cache "$1" \
    --int8 "$1/minilm-int8.onnx" --fp16 "$1/minilm-fp16.onnx"
  remove_tree "$1/wheels" "$1/minilm"
}
with_bed models "$(cat tests/models/fetch.py tests/models/minilm.py)"

make_bed() { "$CACHE/onnx/bin/python" tests/models/build.py "$1"; }
with_bed models_built "$(cat tests/models/build.py tests/models/hostile.py)"
