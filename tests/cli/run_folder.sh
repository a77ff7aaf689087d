# SPDX-License-Identifier: Apache-2.0
# A folder of captures that holds none, or none that can be used.
mkdir empty damaged refused
tare report empty
echo "status $?"
printf 'tarecap\0 and then nothing' >damaged/12-abcdef.tarecap
tare report damaged
echo "status $?"
printf 'no room for a capture\n' >refused/34.refused
tare report refused
echo "status $?"
