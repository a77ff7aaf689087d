# SPDX-License-Identifier: Apache-2.0
# Several outputs at once, each by its extension; what is read back is what was written.
echo 'a;b;c 7' >x.folded
tare report x.folded -o y.pb.gz -o y.svg -o y.speedscope.json -o y.json -o y.txt -o y.prof -o y.folded
ls
tare report y.pb.gz -f folded
tare report y.folded -f folded
gunzip -c y.pb.gz | tare report - -f folded
tare report x.folded -f svg -o picture
head -c 5 picture
