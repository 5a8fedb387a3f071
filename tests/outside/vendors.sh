#!/usr/bin/env bash
# The vendors' own programs of Python, fetched once (tests/npm/python.sh): Modal's against our fake of it. (Daytona's, E2B's
# and the agent of deepagents, against `sandglass serve`, are in tests/e2e/serve_py.sh.)
. "$(dirname "$0")/../e2e/lib.sh"
need_boxes
py=${PY_DIR:-$(dirname "$SANDGLASS")/py}
"$here/../npm/python.sh" "$py" >"$t/out" 2>&1
"$py/bin/python" -c 'import modal' 2>/dev/null || { skip "pip could not fetch Python's SDKs: $(tail -1 "$t/out")"; finish; }
command -v bwrap >/dev/null && command -v node >/dev/null || { skip 'no bubblewrap or no node for the fake'; finish; }
cd "$t" || exit 1
python3 "$here/../fakes/modal.py" "$t/port" </dev/null >"$t/fake.log" 2>&1 &
fake_pid=$!
trap 'kill $fake_pid 2>/dev/null; wait $fake_pid 2>/dev/null; end_all' EXIT
wait_for 30 test -s port
MODAL_SERVER_URL=http://127.0.0.1:$(cat port) MODAL_TOKEN_ID=ak-test MODAL_TOKEN_SECRET=as-test MODAL_CONFIG_PATH=/dev/null \
	no_proxy=127.0.0.1 timeout 120 "$py/bin/python" "$here/../outside/modal_py.py" >sdk.out 2>"$t/out"
is $? 0 'modal of PyPI drives the fake to its end'
while IFS= read -r line; do
	case $line in 'ok '*) ok 0 "modal: ${line#ok }" ;; 'not ok '*) ok 1 "modal: ${line#not ok }" ;; esac
done <sdk.out
finish
