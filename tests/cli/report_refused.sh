# SPDX-License-Identifier: Apache-2.0
# Bad input and bad requests: one clear line each, status 2, nothing left behind.
try() {
    echo "\$ tare $*" >&2
    tare "$@"
    echo "status $?" >&2
}
: >empty
printf 'hello, this is prose\nand nothing else\n' >prose.txt
printf '{"schema": "something else"}' >other.json
printf '{"schema": ' >cut.json
head -c 100 /dev/urandom | sed 's/^/\x00/' >noise.bin
head -c 2000000 /dev/zero >zeros.prof
echo 'a;b 1' >good.folded
tare report good.folded -o good.pb.gz
head -c 40 good.pb.gz >cut.pb.gz
printf 'a;b 1\na;c one\n' >bad.folded
mkdir folder readonly
try report
try report missing.prof
try report empty
try report prose.txt
try report other.json
try report cut.json
try report zeros.prof
try report cut.pb.gz
try report bad.folded
try report folder
try report good.folded -f pdf
try report good.folded -o good.xyz
try report good.folded -o nowhere/x.svg
try report good.folded -o folder
try report good.folded -c wall
try report good.folded -s sideways
try report good.folded --colum wall
try report good.folded good.folded missing
try report good.folded --base missing
try report good.folded -o /dev/full -f folded
ls
