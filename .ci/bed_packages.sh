#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the checks need and this machine lacks. yyjson comes from the suite
# after Debian 12, which has none; it needs no newer libc, so nothing else is upgraded.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

packages=(build-essential ccache clang clang-format clang-tidy cmake debootstrap dpkg-dev libbz2-dev
  libclang-rt-14-dev libffi-dev liblzma-dev libsqlite3-dev libssl-dev llvm meson ninja-build pkg-config
  shellcheck valgrind zlib1g-dev chromium)

missing() {
  local name
  for name in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

export DEBIAN_FRONTEND=noninteractive
install=(apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3
  -o Dpkg::Options::=--force-unsafe-io)

mapfile -t wanted < <(missing "${packages[@]}")
if [ "${#wanted[@]}" -gt 0 ]; then
  [ "$(id -u)" = 0 ] || die "run as root, or install: ${wanted[*]}"
  timeout 300 apt-get -q -o DPkg::Lock::Timeout=300 update
  timeout 900 "${install[@]}" install "${wanted[@]}"
fi

if ! pkg-config --exists 'yyjson >= 0.8'; then
  [ "$(id -u)" = 0 ] || die "run as root, or install yyjson 0.8 or newer with its headers"
  view=$(mktemp -d)
  trap 'remove_tree "$view"' EXIT
  apt_suite trixie "$view"
  timeout 300 "${install[@]}" "${APT_SUITE[@]}" install libyyjson-dev
fi
echo "packages: all there"
