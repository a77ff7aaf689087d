# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The checks of .ci/run. Adding one is a line in declare_steps (name, limit in seconds, what it needs) and a
# function step_NAME. A step passes by exiting 0; `skip "reason: remedy"` skips it.

BUILD=$ROOT/build-ci
export CCACHE_DIR=$CACHE/ccache CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=500M
export PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
PYENV_VERSIONS=(3.10 3.11 3.12 3.13)
SID_VERSIONS=(3.14 3.15)
FUZZ_SECONDS=${TARE_FUZZ_SECONDS:-20}

declare_steps() {
  local version target
  step packages 1200
  step tools 900
  step tree 120 tools
  step python_style 120 tools
  step format 120 packages
  step shell_style 120 packages
  step ort_header 300 packages
  step build_gcc 1200 packages ort_header
  step build_clang 1200 packages tools ort_header
  step unit_gcc 600 build_gcc
  step wheelhouse 300 tools
  step pprof 300
  step npm 300
  step models 1200
  step sid 1500 packages
  step python313t 1800 packages
  step static 600 packages
  step site 900 build_gcc wheelhouse
  step cpython 600 build_gcc site
  step model_tests 1500 build_gcc site models
  step python_tests 1500 build_gcc site after:pprof after:npm after:sid
  step docs 600 site
  step unit_clang 600 build_clang
  step build_asan 1200 packages ort_header
  step unit_asan 900 build_asan
  step tsan 600 packages ort_header
  step tidy 1800 build_clang
  step wheel 900 static tools ort_header
  step bare_chroot 300 wheel
  for version in "${PYENV_VERSIONS[@]}"; do
    step "pip_$version" 900 wheelhouse packages ort_header
  done
  step pip_3.13t 900 wheelhouse python313t ort_header
  for version in "${SID_VERSIONS[@]}"; do
    step "pip_$version" 900 wheelhouse sid ort_header
  done
  step torch 900 wheelhouse sid ort_header models
  step build_fuzz 1200 packages ort_header
  for target in fuzz/fuzz_*.c; do
    [ ! -e "$target" ] || step "$(basename "$target" .c)" $((FUZZ_SECONDS + 90)) build_fuzz
  done
  step no_ort_header 600 build_gcc
  step valgrind 900 build_gcc
}

step_packages() { bash .ci/bed_packages.sh; }
step_tools() { bash .ci/bed_tools.sh; }
step_wheelhouse() { bash .ci/bed_wheelhouse.sh; }
step_pprof() { bash .ci/bed_pprof.sh; }
step_npm() { bash .ci/bed_npm.sh; }
step_ort_header() { bash .ci/bed_ort_header.sh; }
step_models() { bash .ci/bed_models.sh; }
step_sid() { bash .ci/bed_sid.sh; }
step_python313t() { bash .ci/bed_python313t.sh; }
step_static() { bash .ci/bed_static.sh; }

# The tree itself: directions between rooms, names, sizes, licence lines, nothing of one machine.
step_tree() { "$TOOLS/bin/pytest" -q -p no:cacheprovider tests/py/test_rooms.py; }

step_format() {
  git ls-files '*.c' '*.h' | xargs clang-format-14 --dry-run -Werror
}

step_shell_style() { shellcheck -x .ci/run .ci/*.sh; }

step_python_style() {
  "$TOOLS/bin/ruff" check --no-cache .
  "$TOOLS/bin/ruff" format --no-cache --check .
  "$TOOLS/bin/mypy" --cache-dir="$BUILD/mypy" python/tare
  "$TOOLS/bin/mypy" --cache-dir="$BUILD/mypy" .ci/tidy.py tests/cli/run_cli.py tests/docs/run_docs.py
}

# configure NAME COMPILER MESON OPTION…: a build in build-ci/NAME in which a warning is an error. One that was made
# with other options is made again.
configure() {
  local dir=$BUILD/$1 compiler=$2 meson=$3 options
  shift 3
  set -- -Dwerror=true "-Dort_include=$CACHE/ort_header/include" "$@"
  options="$compiler $*"
  [ "$(cat "$dir/ci-options" 2>/dev/null)" != "$options" ] || return 0
  rm -rf "$dir"
  CC=$compiler "$meson" setup "$dir" "$@"
  printf '%s' "$options" >"$dir/ci-options"
}

# compile NAME COMPILER MESON OPTION…: configures it and builds all of it.
compile() {
  configure "$@"
  ninja -C "$BUILD/$1"
}

# Debian 12's meson is the oldest that the build supports; clang's build uses the newest.
step_build_gcc() { compile gcc "ccache gcc" /usr/bin/meson; }
step_build_clang() { compile clang "ccache clang" "$TOOLS/bin/meson" -Dpython=enabled; }
step_build_asan() { compile asan "ccache gcc" /usr/bin/meson -Db_sanitize=address,undefined; }
step_build_fuzz() {
  compile fuzz "ccache clang" /usr/bin/meson -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true \
    -Dtests=false -Dcommand=false
}

# meson_test NAME [MESON]: the suites of a build; each program's closing line stands once in the log.
meson_test() {
  local log=$BUILD/$1/meson-logs/testlog.txt
  if "${2:-/usr/bin/meson}" test -C "$BUILD/$1" --no-rebuild --num-processes 2; then
    grep -E '^[0-9]+ passed, [0-9]+ failed|^skip: ' "$log"
  else
    cat "$log"
    # Again at the end, where it is seen; marked, so that nothing is counted twice.
    awk '/^=+ [0-9]+\/[0-9]+ =+$/ { keep = 0; head = "" } { head = head "| " $0 "\n" }
      /^result: / { keep = !/exit status 0$/ } keep { printf "%s", head } keep || /^result: / { head = "" }' "$log"
    return 1
  fi
}
step_unit_gcc() { meson_test gcc; }
step_unit_clang() { meson_test clang "$TOOLS/bin/meson"; }
step_unit_asan() { meson_test asan; }

# Whoever lacks ONNX Runtime's header gets a tare that says so and does the rest.
step_no_ort_header() {
  configure no_ort_header "ccache gcc" /usr/bin/meson -Dort_include=
  ninja -C "$BUILD/no_ort_header"
  /usr/bin/meson test -C "$BUILD/no_ort_header" --no-rebuild cli test_ort test_doctor
}

# What several threads write without a lock, under ThreadSanitizer; only that is built.
step_tsan() {
  local dir=$BUILD/tsan
  configure tsan "ccache clang" /usr/bin/meson -Db_sanitize=thread -Db_lundef=false
  ninja -C "$dir" tests/test_recorder tests/test_api tests/test_worker
  TSAN_OPTIONS=halt_on_error=1 "$dir/tests/test_recorder"
  TSAN_OPTIONS=halt_on_error=1 "$dir/tests/test_api"
  TSAN_OPTIONS=halt_on_error=1 "$dir/tests/test_worker"
}

# An environment with the package installed as a user has it, in which the tools of the Python tests are found too.
step_site() {
  local site=$BUILD/site packages
  rm -rf "$site"
  "$TOOLS/bin/python" -m venv --without-pip "$site"
  packages=$("$site/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
  "$TOOLS/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))' >"$packages/tools.pth"
  PIP_NO_INDEX=1 PIP_FIND_LINKS=$CACHE/wheelhouse "$TOOLS/bin/pip" --python "$site/bin/python" install --quiet --no-deps \
    -Csetup-args="-Dort_include=$CACHE/ort_header/include" .
}

# The newest interpreters live in a chroot; these stand-ins run them on this machine's files.
newest_pythons() {
  local version lib
  mkdir -p "$1"
  for version in "${SID_VERSIONS[@]}"; do
    lib=$(echo "$CACHE"/sid/usr/lib/*-linux-gnu)
    [ -x "$CACHE/sid/usr/bin/python$version" ] || continue
    cat >"$1/python$version" <<SHIM
#!/bin/sh
export PYTHONHOME="$CACHE/sid/usr"
exec $(echo "$lib"/ld-linux-*.so.*) --library-path "$lib" --argv0 "\$0" "$CACHE/sid/usr/bin/python$version" "\$@"
SHIM
    chmod +x "$1/python$version"
    "$1/python$version" -c 'import sys, zlib; print(sys.version)'
  done
}

# What weighs models takes half of the time of all Python tests, so it is a step of its own.
MODEL_TESTS=(tests/py/test_{bench_advice,bench_models,bench_sweep,ci_examples,gate_commands,gate_models,layers,models,model_profiler,python_gate,worker_ort}.py)

run_pytest() {
  TARE_BIN=$BUILD/gcc/src/tare PATH=$CACHE/bin:$PATH:$TOOLS/bin NODE_PATH=$CACHE/npm/node_modules \
    "$BUILD/site/bin/python" -m pytest -q -p no:cacheprovider --durations=10 "$@"
}

step_model_tests() {
  TARE_ORT=$(echo "$CACHE"/onnx/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*) \
    PYTHONPATH=$(echo "$CACHE"/onnx/lib/python3*/site-packages) run_pytest "${MODEL_TESTS[@]}"
}

step_python_tests() {
  newest_pythons "$BUILD/pythons"
  PATH=$PATH:$BUILD/pythons run_pytest --ignore tests/py/test_rooms.py --ignore tests/py/test_cpython.py \
    "${MODEL_TESTS[@]/#/--ignore=}" tests/py
}

step_cpython() {
  TARE_BIN=$BUILD/gcc/src/tare "$BUILD/site/bin/python" -m pytest -q -p no:cacheprovider tests/py/test_cpython.py
}

step_docs() {
  TARE_BIN=$BUILD/site/bin/tare "$BUILD/site/bin/python" tests/docs/run_docs.py
}

step_tidy() { python3 .ci/tidy.py "$BUILD/clang" "$CACHE/tidy"; }

# Every complaint counts: the runner fails a test under which valgrind printed anything.
step_valgrind() { python3 tests/cli/run_cli.py --tare "$BUILD/gcc/src/tare" --valgrind; }

step_wheel() { bash .ci/wheel.sh "$BUILD/wheel"; }
step_bare_chroot() { bash .ci/bare_chroot.sh "$BUILD"/wheel/*.whl; }

pip_pyenv() {
  local python
  python=$(pyenv_python "$1")
  [ -n "$python" ] || skip "no CPython $1 here: pyenv install $1"
  bash .ci/pip_install.sh "$python"
}
pip_sid() { bash .ci/pip_install.sh --chroot "$CACHE/sid" "python$1"; }
step_torch() {
  bash .ci/pip_install.sh --chroot "$CACHE/sid" --system --models python3.14 test_torch.py test_answers.py \
    test_cpython.py test_model_profiler.py::test_a_torch_{module_runs_in_eval_and_inference_mode,tensor_goes_to_minilm}
}
step_pip_3.13t() { bash .ci/pip_install.sh "$CACHE/python3.13t/bin/python3.13t"; }
for version in "${PYENV_VERSIONS[@]}"; do
  eval "step_pip_$version() { pip_pyenv $version; }"
done
for version in "${SID_VERSIONS[@]}"; do
  eval "step_pip_$version() { pip_sid $version; }"
done

# fuzz_target NAME: a short run from the corpus in the tree; what it finds is kept in build-ci/fuzz-NAME.
fuzz_target() {
  local found=$BUILD/fuzz-$1
  mkdir -p "$found/corpus"
  "$BUILD/fuzz/fuzz/$1" -max_total_time="$FUZZ_SECONDS" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$found/" "$found/corpus" "fuzz/corpus/${1#fuzz_}"
}
for target in fuzz/fuzz_*.c; do
  [ -e "$target" ] || continue
  target=$(basename "$target" .c)
  eval "step_$target() { fuzz_target $target; }"
done
