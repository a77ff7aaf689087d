#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pip_install.sh [--chroot DIR] [--system] [--models] PYTHON [TEST…]: `pip install .` in a fresh environment of PYTHON, with
# the system's shared libraries, then the smoke test and the tests of the package, or those that are named. The
# build's own needs come from the wheelhouse. --system: the environment sees the packages of the system, too.
# --models: the tests find ONNX Runtime and MiniLM.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

chroot=
if [ "$1" = --chroot ]; then
  chroot=$2
  shift 2
fi
see=
if [ "$1" = --system ]; then
  see=--system-site-packages
  shift
fi
models=
if [ "$1" = --models ]; then
  models=1
  shift
fi
python=$1
shift
# What differs from one interpreter to the next is tested on each.
[ $# -gt 0 ] || set -- test_answers.py test_hooks.py test_package.py test_profile_api.py test_profile_files.py \
  test_profile_random.py test_profile_settings.py test_run.py test_run_processes.py

# The source goes along as git has it: building must not depend on what lies around in the working tree.
work=$(mktemp -d "${chroot:-${TMPDIR:-/tmp}}/tare-pip.XXXXXX")
trap 'remove_tree "$work"' EXIT
mkdir "$work/source" "$work/wheelhouse"
git -C "$ROOT" ls-files -z | (cd "$ROOT" && tar --null -T - -c) | tar -x -C "$work/source"
cp "$CACHE"/wheelhouse/*.whl "$work/wheelhouse"
cp -r "$CACHE/ort_header/include" "$work/ort_include"
mkdir "$work/cache"
if [ -n "$models" ]; then
  (cd "$CACHE" && cp --parents onnx/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.* models/minilm.onnx \
    "$work/cache")
fi

cat >"$work/install.sh" <<'INSTALL'
set -eu
work=$1 python=$2 see=$3
shift 3
export CCACHE_BASEDIR="$work" CCACHE_NOHASHDIR=1 CCACHE_DIR="${CCACHE_DIR:-/var/cache/ccache}"
"$python" -m venv $see "$work/venv"
export PIP_NO_INDEX=1 PIP_FIND_LINKS="$work/wheelhouse" PIP_DISABLE_PIP_VERSION_CHECK=1
"$work/venv/bin/pip" install --config-settings=setup-args="-Dort_include=$work/ort_include" "$work/source"
cd "$work"
export PATH="$work/venv/bin:$PATH"
python source/tests/wheel_smoke.py
pip install --quiet pytest toolz
cd source/tests/py
TARE_CI_CACHE=$work/cache TARE_BIN=$work/venv/bin/tare python -m pytest -q -p no:cacheprovider "$@"
INSTALL

if [ -z "$chroot" ]; then
  sh "$work/install.sh" "$work" "$python" "$see" "$@"
else
  inside=${work#"$chroot"}
  in_chroot "$chroot" /usr/bin:/usr/sbin sh "$inside/install.sh" "$inside" "$python" "$see" "$@"
fi
