# SPDX-License-Identifier: Apache-2.0
# A run's file: every format, by name, by extension and from a pipe; written again it is the same file.
runs=$DATA/runs
tare report "$runs/unsupported_percentiles.json"
tare report "$runs/not_measured.json" -f markdown
tare report "$runs/not_measured.json" -f csv | tr -d '\r' | cut -d, -f 1-12
gzip -c "$runs/minilm_sweep.json" | tare report - -o again.json -o sweep.md -o sweep.csv -o sweep.txt
cmp again.json "$runs/minilm_sweep.json"
ls
