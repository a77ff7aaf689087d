# SPDX-License-Identifier: Apache-2.0
# The number itself is meson.build's alone.
tare --version | sed 's/[0-9][0-9.]*/VERSION/'
