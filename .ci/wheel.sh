#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh DIR: builds the self-contained wheel into DIR, for the interpreter of the tools. zlib and yyjson are
# linked in, so it needs libc alone; it is tagged with the oldest libc whose symbols it uses.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
out=$1

work=$(mktemp -d)
trap 'remove_tree "$work"' EXIT
rm -rf "$out"
mkdir -p "$out"

cd "$ROOT"
export PATH=$TOOLS/bin:$PATH
PKG_CONFIG_PATH=$CACHE/static/lib/pkgconfig python -m build --wheel --no-isolation --outdir "$work" \
  -Csetup-args=-Dstatic_deps=true -Csetup-args=-Dwerror=true \
  -Csetup-args="-Dort_include=$CACHE/ort_header/include" .
auditwheel repair --strip --wheel-dir "$out" "$work"/*.whl
auditwheel show "$out"/*.whl

# What auditwheel allows is more than what tare may need: only libc's own family.
python -m zipfile -e "$out"/*.whl "$work/unpacked"
mapfile -t binaries < <(find "$work/unpacked" -name tare -type f -o -name '*.so')
[ "${#binaries[@]}" = 2 ] || die "expected the command and one extension, found: ${binaries[*]}"
foreign=$(readelf -d "${binaries[@]}" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep -vE '^(libc|libm|libdl|libpthread|librt|ld-linux-.*)\.so\.[0-9]+$' || true)
[ -z "$foreign" ] || die "the wheel needs libraries it does not carry: $foreign"
if readelf -d "${binaries[@]}" | grep -E 'R(UN)?PATH'; then die "the wheel looks for libraries in a folder of this machine"; fi
exported=$(nm -D --defined-only "$work"/unpacked/tare/_core*.so | awk '{ print $3 }')
[ "$exported" = PyInit__core ] || die "the extension shows more than its entry: $exported"
ls -l "$out"
