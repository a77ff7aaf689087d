# SPDX-License-Identifier: Apache-2.0
# Every way to ask for help answers on standard output, with status 0.
tare help >overview
tare --help | cmp - overview
tare -h | cmp - overview
head -3 overview
tare help help
# Help lists only commands that exist, and each of them has help, under both spellings.
sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p' overview >names
grep -cx help names
while read -r name; do
    tare "$name" --help >one
    tare help "$name" | cmp - one
    grep -q "^Usage: tare $name" one || echo "no help for $name"
done <names
