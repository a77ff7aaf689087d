#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints `passed failed skipped` of a log: the sum of its closing lines, those of tare's own test programs
# (`3 passed, 0 failed, 1 skipped`) and pytest's (`== 3 passed, 1 skipped in 0.12s ==`).
awk '
  function count(word,   text) {
    if (!match($0, "[0-9]+ " word)) return 0
    text = substr($0, RSTART, RLENGTH)
    return text + 0
  }
  /^([A-Za-z_-]+: )?[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ ||
  /^(=+ )?([0-9]+ [a-z]+, )*[0-9]+ (passed|failed|skipped|errors?)(, [0-9]+ [a-z]+)* in [0-9.]+s/ {
    p += count("passed"); f += count("failed") + count("error"); s += count("skipped")
  }
  END { print p + 0, f + 0, s + 0 }' "$1"
