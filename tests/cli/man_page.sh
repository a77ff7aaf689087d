# SPDX-License-Identifier: Apache-2.0
# The manual page has no warnings, and names every command and option that help names.
command -v man >/dev/null && command -v groff >/dev/null || {
    echo "man or groff is missing: install man-db and groff" >&2
    exit 77
}
tare help --man >tare.1
MANWIDTH=80 man -l --warnings=w tare.1 >shown
groff -man -ww -Tutf8 tare.1 >/dev/null
groff -man -Tascii -P-c -P-b -P-u tare.1 | tr -s ' \n' '  ' >flat
tare help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p' >names
while read -r name; do
    grep -qF "tare $name" flat || echo "not in the manual: $name"
    tare help "$name" | grep -o -e '--[a-z][a-z-]*' | sort -u >options
    while read -r option; do
        grep -qF -e "$option" flat || echo "not in the manual: $name $option"
    done <options
done <names
for section in NAME SYNOPSIS DESCRIPTION OPTIONS COMMANDS 'EXIT STATUS'; do
    grep -c "^$section" shown
done
