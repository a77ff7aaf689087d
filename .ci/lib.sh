# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Shared by every script in .ci: where the cache is, how a bed is made, and where Debian's other suites are.
#
# A bed is a folder in the cache that takes long to make (a chroot, an interpreter, a set of tools). It
# counts as made only when its stamp `.ready` holds the key of the recipe that made it, and the stamp is
# written last. An interrupted or outdated bed is therefore removed and made again.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${TARE_CI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tare-ci}
TOOLS=$CACHE/tools
export CACHE ROOT TOOLS
mkdir -p "$CACHE"

die() {
  echo "$0: $*" >&2
  exit 1
}

# A step that cannot run here says why and exits so; the runner shows it in its closing line.
SKIP_STATUS=77
skip() {
  echo "SKIP: $*"
  exit "$SKIP_STATUS"
}

# Never follows a mount: a chroot that still has /dev bound must not cost the machine its devices.
remove_tree() {
  rm -rf --one-file-system "$@"
}

# with_bed NAME RECIPE: makes $CACHE/NAME by calling the function `make_bed DIR`, unless it is there.
# RECIPE is any text that changes when the bed must be made again. One maker at a time.
with_bed() {
  local name=$1 recipe=$2 dir key
  dir=$CACHE/$name
  key=$(printf '%s\n' "$recipe" "$(declare -f make_bed)" | sha256sum | cut -d' ' -f1)
  exec 8>"$CACHE/.$name.lock"
  flock 8
  if [ "$(cat "$dir/.ready" 2>/dev/null)" = "$key" ]; then
    echo "$name: already made"
  else
    remove_tree "$dir"
    mkdir -p "$dir"
    # Not inside a condition: there bash would ignore set -e in the whole function.
    (set -e; exec 8>&-; make_bed "$dir")
    printf '%s' "$key" >"$dir/.ready.tmp"
    mv "$dir/.ready.tmp" "$dir/.ready"
    echo "$name: made"
  fi
  exec 8>&-
}

# The first http(s) address of Debian's own archive that this machine is set up with.
debian_mirror() {
  local codename found
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # shellcheck disable=SC2016 # awk expands it
  found=$(find /etc/apt -maxdepth 2 -name '*.sources' -o -name '*.list' | sort |
    xargs -r awk -v suite="$codename" '
      function field(i) { return $i ~ /^https?:\/\// ? $i : "" }
      $1 == "deb" { for (i = 2; i < NF; i++) if (field(i) && $(i + 1) == suite) print $i }
      tolower($1) == "uris:" { uri = field(2) }
      tolower($1) == "suites:" { for (i = 2; i <= NF; i++) if ($i == suite && uri) print uri }' | head -n1)
  [ -n "$found" ] || die "no Debian archive for $codename in this machine's apt sources"
  echo "$found"
}

# apt_suite SUITE DIR: prepares DIR as apt's view of another Debian suite, sources included, and reads
# its lists. Afterwards `apt-get "${APT_SUITE[@]}" …` works on that suite without touching the machine's.
apt_suite() {
  local suite=$1 dir=$2 mirror
  mirror=$(debian_mirror)
  mkdir -p "$dir/lists/partial"
  # apt downloads as the user _apt, which may not be able to enter the cache.
  chmod 755 "$dir"
  cat >"$dir/suite.sources" <<SOURCES
Types: deb deb-src
URIs: $mirror
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
  APT_SUITE=(-o "Dir::Etc::sourcelist=$dir/suite.sources" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$dir/lists" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
    -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root -o Acquire::Retries=3
    -o DPkg::Lock::Timeout=300)
  timeout 300 apt-get "${APT_SUITE[@]}" -q update
}

# suite_source SUITE PACKAGE DIR: unpacks the upstream source of a Debian source package into DIR.
suite_source() {
  local suite=$1 package=$2 dir=$3
  mkdir -p "$dir/apt" "$dir/download" "$dir/source"
  apt_suite "$suite" "$dir/apt"
  (cd "$dir/download" && timeout 300 apt-get "${APT_SUITE[@]}" -q source --tar-only "$package")
  tar -xf "$dir/download/"*.orig.tar.* --strip-components=1 -C "$dir/source"
}

# in_chroot DIR PATH COMMAND…: runs the command in DIR, with nothing of this environment but what is named here.
# In a mount namespace: what is mounted for it goes away with it, also when it is interrupted.
in_chroot() {
  # shellcheck disable=SC2016 # the inner shell expands it
  unshare --mount sh -euc '
    dir=$1 path=$2 chroot=$(command -v chroot)
    shift 2
    mount --bind /dev "$dir/dev"
    mount -t proc proc "$dir/proc"
    exec env -i PATH="$path" HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$chroot" "$dir" "$@"
  ' sh "$@"
}

# pyenv_python VERSION: the interpreter of pyenv's newest release of VERSION (3.11), or nothing.
pyenv_python() {
  local found
  command -v pyenv >/dev/null || return 0
  found=$(pyenv versions --bare | grep -E "^${1//./\\.}\.[0-9]+$" | sort -V | tail -n1 || true)
  [ -z "$found" ] || echo "$(pyenv prefix "$found")/bin/python$1"
}
