#!/usr/bin/env bash
# Boxes of E2B, against a fake that its own SDK drives first.
kind=e2b sdk=e2b key=E2B_API_KEY url=E2B_API_URL url2=E2B_SANDBOX_URL create='^/v2/sandboxes$' exec_path=/process.Process/Start
asleep='POST /sandboxes/.*/pause'
export E2B_API_KEY=e2b_00
token='traffic-i'
own() { # a session ends while what others left is still asked for, or waited for to be asked anew
	for late in wait:2 status:429; do
		fault "9 GET ^/v2/sandboxes$ $late"
		timeout 60 python3 "$here/../drivers/fell.py" "$sg" run --no-tui one.lua -- --backend e2b </dev/null >out 2>&1
		is "$(grep -oE 'said fine|fell: .*' out)" 'said fine' "a session ends before the list of boxes is there ($late): nothing falls"
		fake calm >/dev/null
	done
}
. "$(dirname "$0")/rented.bash"
