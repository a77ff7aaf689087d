#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bed: free-threaded CPython 3.13, built from Debian's source package because no suite ships one.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

make_bed() {
  local work=$CACHE/.python3.13t.work
  remove_tree "$work"
  suite_source trixie python3.13 "$work"
  cd "$work/source"
  # Not optimised for speed: it only has to load and run tare.
  ./configure --quiet --prefix="$1" --disable-gil --disable-test-modules --with-ensurepip=install CFLAGS=-O1
  timeout 1200 make -s -j"$(nproc)"
  make -s install
  "$1/bin/python3.13t" -c 'import sys, zlib, ssl, ctypes; assert not sys._is_gil_enabled()'
  remove_tree "$work"
}
with_bed python3.13t "python3.13 -O1"
