# SPDX-License-Identifier: Apache-2.0
# What tare run refuses before it starts anything; no Python with tare is needed.
unset VIRTUAL_ENV CONDA_PREFIX
PATH=$(dirname "$(command -v tare)"):/usr/bin:/bin
show() {
    echo "\$ tare run $*"
    echo "\$ tare run $*" >&2
    tare run "$@"
    echo "status $?"
}
show
show -O -X dev
show -X
show -Ok script.py
show --pyton x script.py
show -s nonsense script.py
show -n -1 script.py
show -o missing/x.prof script.py
mkdir folder
show -o folder script.py
show -o x.prof -o x.prof script.py
show --python no-such-python script.py
show --python ./no/such/python script.py
echo 'no program' >plain
show --python ./plain script.py
printf '#!/bin/sh\nexit 3\n' >odd
chmod +x odd
show --python ./odd script.py
ls -A
