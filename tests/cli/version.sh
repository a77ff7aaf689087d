# SPDX-License-Identifier: Apache-2.0
# The number itself is meson.build's alone; the others are the machine's.
tare --version | sed 's/gcc/CC/; s/clang/CC/; s/none$/VERSION/; s/[0-9][0-9.a-z-]*/VERSION/'
tare -V | head -1 | sed 's/[0-9][0-9.]*/VERSION/'
