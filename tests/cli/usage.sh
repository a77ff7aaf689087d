# SPDX-License-Identifier: Apache-2.0
# What makes no sense gets one line that says why, a second that says where to look, and status 2.
try() {
    echo "\$ tare${*:+ $*}" >&2
    tare "$@"
    echo "status $?" >&2
}
try
try hlep
try banana
try --vresion
try -z
try help --completon bash
try help --completion fish
try help --completion
try help --man=yes
try help one two
try help nothing
try help --man --completion bash
try help --man help
