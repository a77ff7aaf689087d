# SPDX-License-Identifier: Apache-2.0
# A result that cannot be delivered is an error, except when the reader has seen enough.
tare help >/dev/full
echo "full: $?"
tare help --man 2>&1 | head -c 1 >/dev/null
# The reader is gone before anything is written.
(sleep 0.2; tare help --man; echo "reader gone: $?" >&2) | true
