# SPDX-License-Identifier: Apache-2.0
# The completions load, and know the commands. What they offer in detail is tested in test_opt.c.
command -v bash >/dev/null && command -v zsh >/dev/null || {
    echo "bash or zsh is missing: install both" >&2
    exit 77
}
tare help --completion bash >tare.bash
tare help --completion zsh >_tare
bash --norc -c '
    . ./tare.bash
    complete -p tare
    COMP_WORDS=(tare hel) COMP_CWORD=1
    _tare
    echo "${COMPREPLY[@]}"
    COMP_WORDS=(tare help --completion "") COMP_CWORD=3
    _tare
    echo "${COMPREPLY[@]}"'
# Autoloaded from a folder, as an installed one is.
zsh -f -c 'fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; print -r -- $_comps[tare]'
zsh -f -n ./_tare
