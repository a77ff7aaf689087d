# SPDX-License-Identifier: Apache-2.0
# What is found depends on the machine: the rows, their order and the shape of the text do not.
tare doctor >all
echo "status $?"
awk '/^(ok|degraded|missing) /{ print substr($0, 11, 14) }' all
tail -n 1 all | sed -E 's/: [0-9]+ ok, [0-9]+ degraded, [0-9]+ missing/: N ok, N degraded, N missing/'
echo "columns past the 80th, but for paths and commands:"
awk 'length($0) > 80 && !/^ +\$ / && !/\//' all

echo "commands that it names and that do not exist:"
grep -oE '(`|\$ )tare [a-z]+' all | sed -E 's/.*tare //' | sort -u | while read -r word; do
  tare "$word" --help >/dev/null || echo "$word"
done

echo "a library that is not there, and is not replaced by another:"
tare doctor --ort ./nothing.so >named
echo "status $?"
sed -n '/onnxruntime  /,/\$/p' named
tare doctor --ort ./nothing.so --strict >/dev/null
echo "strict: status $?"

echo "the same as JSON:"
tare doctor --json >doctor.json
python3 - <<'PYTHON'
import json

report = json.load(open("doctor.json"))
print(sorted(report))
for check in report["checks"]:
    assert check["status"] in ("ok", "degraded", "missing"), check
    assert check["found"] and check["why"], check
    assert check["status"] != "ok" or check["fix"] is None, check
print(sorted(report["checks"][0]))
counts = [sum(check["status"] == name for check in report["checks"]) for name in ("ok", "degraded", "missing")]
assert counts == [report["ok"], report["degraded"], report["missing"]], counts
PYTHON

tare doctor here
echo "status $?"
tare doctor --josn
echo "status $?"
