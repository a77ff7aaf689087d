#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bed: the libraries that tare links, as static position-independent archives, so that the wheel carries
# them inside and needs nothing but libc. Debian ships libz.a without -fPIC and no libyyjson.a.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

make_bed() {
  local work=$CACHE/.static.work
  remove_tree "$work"

  suite_source trixie zlib "$work/zlib"
  (
    cd "$work/zlib/source"
    CFLAGS="-O2 -fPIC -fvisibility=hidden" ./configure --static --prefix="$1"
    make -s -j"$(nproc)" libz.a
    make -s install
  )

  suite_source trixie yyjson "$work/yyjson"
  cmake -S "$work/yyjson/source" -B "$work/yyjson/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$1" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_C_VISIBILITY_PRESET=hidden
  ninja -C "$work/yyjson/build" install

  remove_tree "$work"
  PKG_CONFIG_LIBDIR=$1/lib/pkgconfig pkg-config --static --modversion zlib yyjson
}
with_bed static "zlib yyjson trixie"
