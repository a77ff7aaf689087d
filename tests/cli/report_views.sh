# SPDX-License-Identifier: Apache-2.0
# One small profile of known stacks, in every text view.
cat >small.folded <<'END'
main;load;read 30
main;load 5
main;train;forward;matmul 50
main;train;forward 5
main;train;backward;matmul 10
END
echo '$ table'
tare report small.folded
echo '$ by name, three rows'
tare report small.folded -s name -n 3
echo '$ match'
tare report small.folded -m matmul
echo '$ callers'
tare report small.folded -f callers
echo '$ callees'
tare report small.folded -f callees -m forward
echo '$ folded'
tare report small.folded -f folded
echo '$ twice the same'
tare report small.folded small.folded -f folded
echo '$ from standard input'
tare report - -f folded <small.folded
echo '$ difference'
sed 's/matmul 50/matmul 80/' small.folded >slow.folded
tare report slow.folded --base small.folded
echo '$ json'
tare report small.folded --json | head -c 80
