#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bed: the pprof command, the real reader of the profiles that tare writes.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

make_bed() {
  GOBIN=$1 timeout 300 go install github.com/google/pprof@latest
  "$1/pprof" -h >/dev/null 2>&1 || [ -x "$1/pprof" ]
}
command -v go >/dev/null || skip "go is not installed: install Go to read tare's profiles with pprof"
with_bed bin pprof
