#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bed: a chroot of Debian's newest suite, for the newest CPythons, their own tests, the newest compiler and PyTorch.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

packages=(ccache python3.14-dev python3.14-venv python3.15-dev python3.15-venv gcc libc6-dev meson ninja-build
  pkg-config zlib1g-dev libyyjson-dev ca-certificates libpython3.14-testsuite python3-torch)

make_bed() {
  local mirror path=/usr/sbin:/usr/bin:/sbin:/bin
  mirror=$(debian_mirror)
  # debootstrap mounts too: in a namespace, nothing of it outlives this.
  unshare --mount timeout 600 debootstrap --variant=minbase sid "$1" "$mirror"
  cp /etc/resolv.conf "$1/etc/resolv.conf"
  printf '%s\n' 'Acquire::Check-Valid-Until "false";' 'Acquire::Retries "3";' >"$1/etc/apt/apt.conf.d/90tare"
  in_chroot "$1" "$path" timeout 300 apt-get -q update
  in_chroot "$1" "$path" timeout 900 apt-get -q -y --no-install-recommends \
    -o Dpkg::Options::=--force-unsafe-io install "${packages[@]}"
  in_chroot "$1" "$path" apt-get clean
}
[ "$(id -u)" = 0 ] || skip "a chroot needs root: run as root to test CPython 3.14 and 3.15"
with_bed sid "${packages[*]}"
