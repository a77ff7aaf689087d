#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bed: ONNX Runtime's C header, which tare is built with. Debian's newest suite has the newest; the package is
# unpacked and not installed, because it would bring the runtime and a newer C library along.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

make_bed() {
  local work=$CACHE/.ort_header.work
  remove_tree "$work"
  mkdir -p "$work/download"
  apt_suite sid "$work/apt"
  (cd "$work/download" && timeout 300 apt-get "${APT_SUITE[@]}" -q download libonnxruntime-dev)
  dpkg -x "$work"/download/libonnxruntime-dev_*.deb "$work/unpacked"
  mv "$work/unpacked/usr/include/onnxruntime" "$1/include"
  grep -E '^#define ORT_API_VERSION [0-9]+' "$1/include/onnxruntime_c_api.h"
  remove_tree "$work"
}
with_bed ort_header "libonnxruntime-dev sid"
