# SPDX-License-Identifier: Apache-2.0
# A closed standard output is an error when there is something to say; a closed standard error is not.
[ -L "$(command -v tare)" ] || {
    echo "valgrind would open its log on the closed descriptors: run without it" >&2
    exit 77
}
tare help >&-
echo "no standard output: $?"
tare help 2>&- >/dev/null
echo "no standard error: $?"
tare banana 2>&-
echo "no standard error: $?"
tare help <&- >/dev/null
echo "no standard input: $?"
