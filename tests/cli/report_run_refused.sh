# SPDX-License-Identifier: Apache-2.0
# Runs that are refused say which value is wrong, and the file that was to be written is not.
try() {
    tare report "$@" -o out.csv 2>message
    echo "status $?" >>message
    sed 's/this tare ([^)]*)/this tare (VERSION)/' message >&2
    rm message
}
printf '{"schema": "tare.run/2"}' >later.json
try later.json
sed 's/"process": 0,/"process": -1,/' "$DATA/runs/not_measured.json" >negative.json
try negative.json
head -c 3000 "$DATA/runs/not_measured.json" >cut.json
try cut.json
sed 's/"status": "unstable"/"status": "wobbly"/' "$DATA/runs/not_measured.json" >status.json
try status.json
try "$DATA/runs/minimal.json" "$DATA/runs/minimal.json"
tare report "$DATA/runs/minimal.json" -f svg
echo "status $?" >&2
ls
