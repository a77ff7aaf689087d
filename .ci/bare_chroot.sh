#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bare_chroot.sh WHEEL: shows that the wheel is self-contained. Installs it into a root folder that holds a Python
# interpreter, libc's own libraries and nothing else, and runs the smoke test there.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
wheel=$1

[ "$(id -u)" = 0 ] || skip "a chroot needs root: run as root to test the wheel by itself"
bare=$(mktemp -d)
trap 'remove_tree "$bare"' EXIT

python=$(readlink -f "$TOOLS/bin/python")
prefix=$(dirname "$(dirname "$python")")
name=$(basename "$python")
# At the same path inside as outside: that is where the interpreter looks for its own library.
inside=$bare$prefix
mkdir -p "$inside/bin" "$inside/lib" "$bare/proc" "$bare/dev" "$bare/tmp"
cp "$python" "$inside/bin/"
# The standard library only, without its tests and without what else was installed beside it.
tar -C "$prefix/lib" --exclude='test' --exclude='site-packages/*' --exclude='__pycache__' --exclude='config-*' -c "$name" |
  tar -C "$inside/lib" -x
find "$prefix/lib" -maxdepth 1 -name "lib$name*.so*" -exec cp -P {} "$inside/lib/" \;

needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
own="^lib$name.*\.so"
libc='^(libc|libm|libdl|libpthread|librt|libutil|ld-linux-.*)\.so\.[0-9]+$'
# Extensions that need more than libc cannot work in there, and their libraries must not come along.
for extension in "$inside/lib/$name"/lib-dynload/*.so; do
  if needed "$extension" | grep -vE "$libc|$own" | grep -q .; then rm "$extension"; fi
done
find "$inside" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec ldd {} + | grep -oE '/[^ :]+\.so[^ :]*' | sort -u |
  while read -r library; do
    case $library in "$prefix"/* | "$bare"/*) continue ;; esac
    basename "$library" | grep -qE "$libc" || die "the interpreter itself needs $library"
    mkdir -p "$bare$(dirname "$library")"
    cp -L "$library" "$bare$library"
  done

# The tools' pip unpacks it: the bare interpreter has no zlib to do so itself.
"$TOOLS/bin/pip" install --quiet --no-deps --no-index --no-compile --target "$bare/target" "$wheel"
mkdir -p "$inside/lib/$name/site-packages"
mv "$bare"/target/tare "$bare"/target/tareprof.pth "$bare"/target/tareprof-*.dist-info "$inside/lib/$name/site-packages/"
mv "$bare/target/bin/tare" "$inside/bin/tare"
remove_tree "$bare/target"
cp "$ROOT/tests/wheel_smoke.py" "$bare/"

echo "libraries in the chroot:"
find "$bare" -name '*.so*' -not -path '*/lib-dynload/*' -printf '%f\n'
if find "$bare" -name 'libz.*' -o -name 'libz-*' -o -name 'libyyjson*' | grep .; then die "the chroot is not bare"; fi
in_chroot "$bare" "$prefix/bin" "$prefix/bin/$name" /wheel_smoke.py
