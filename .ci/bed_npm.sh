#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bed: speedscope, the real reader of .speedscope.json, and playwright-core, which drives Debian's Chromium.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

packages=(speedscope playwright-core)

make_bed() {
  cd "$1"
  echo '{"private": true}' >package.json
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 timeout 300 npm install --no-fund --no-audit --loglevel=error \
    "${packages[@]}"
}
command -v npm >/dev/null || skip "npm is not installed: install Node.js to open reports in a browser"
with_bed npm "${packages[*]}"
