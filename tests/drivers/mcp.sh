#!/usr/bin/env bash
# A remote machine offered through MCP tools: our own `mcp serve`, and a third-party shell server from npm.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/suite.bash"
need_boxes
sg=$SANDGLASS
npm=$here/../../${B:-build}/npm
case ${B:-build} in /*) npm=$B/npm ;; esac
cd "$t" || exit 1
pids=
trap 'for p in $pids; do kill "$p" 2>/dev/null; done; wait $pids 2>/dev/null; end_all' EXIT
cat >box.lua <<'L'
local sg = require "sandglass"
local a = sg.args { tool = "" }
local box <close> = sg.sandbox { backend = "mcp", options = { tool = a.tool ~= "" and a.tool or nil } }
local r, err = box:exec "printf out; printf err >&2; seq 9000 | tail -1; exit 7"
print("said " .. (r and r.out .. r.err .. r.code or tostring(err)))
assert(box:write("d/odd name", "\0\1bytes"))
print("file " .. #box:read "d/odd name", "diff " .. box:diff()[2].path)
print("long " .. #box:run("head -c 20000 /dev/zero | tr '\\0' x").out)
local b = assert(box:batch { "echo one", "exit 3" })
print("batch " .. b[1].out .. b[2].code)
L
uses() { # who
	timeout 60 "$sg" run --no-tui --no-input box.lua --json </dev/null >out 2>&1
	is $? 0 "$1: a script uses a box"
	local said
	said=$(grep '"kind":"note"' out)
	like "$said" 'said out9000\\nerr7' "$1: output, errors and exit status"
	like "$said" 'file 7.*diff d/odd name' "$1: files and what has changed"
	like "$said" 'long 20000' "$1: what a tool would shorten comes whole"
	like "$said" 'batch one\\n3' "$1: a batch"
}
# --- our own ---
"$sg" mcp serve --http 0 --json >addr 2>err </dev/null &
pids=$!
wait_for 20 test -s addr
MCP_URL=$(sed 's/.*"url": *"\([^"]*\)".*/\1/' addr) MCP_TOKEN=$(cat "$HOME/.local/state/sandglass/mcp-token")
export MCP_URL MCP_TOKEN
uses 'mcp serve'
like "$("$sg" doctor)" 'mcp sandboxes +MCP_TOKEN is set' 'doctor knows that there is a key'
like "$(env -u MCP_TOKEN "$sg" doctor)" 'mcp sandboxes +no MCP_TOKEN' 'and that there is none'
closed_there() { "$sg" events "$("$sg" ls --json | grep '"name":"mcp"' | grep -oE '"session":"s-[a-z0-9]+' | cut -d'"' -f4)" --json 2>"$t/out" | grep -q '"kind":"box.closed"'; }
wait_for 10 closed_there
ok $? 'mcp serve: its sandbox is closed again'
like "$(timeout 60 "$sg" run --no-tui --no-input box.lua -- --tool none </dev/null 2>&1 | tail -1)" 'no tool that runs shell commands \(it has: sandbox_create, sandbox_exec' 'a tool that is not there: one line that names those that are'
like "$(MCP_TOKEN=wrong-token timeout 60 "$sg" run --no-tui --no-input box.lua </dev/null 2>&1 | tail -1)" 'mcp refuses the key in MCP_TOKEN' 'a token that is refused'
[ -z "${LONG:-}" ] || conform mcp 'mcp serve' # two supervisors, one in the other: a minute
# --- of others ---
if [ -d "$npm/node_modules/mcp-server-commands" ] && command -v node >/dev/null; then
	python3 "$here/../drivers/mcp_bridge.py" "$t/port" bwrap --ro-bind /usr /usr --ro-bind /etc /etc --symlink usr/bin /bin \
		--symlink usr/lib /lib --symlink usr/lib64 /lib64 --dev /dev --proc /proc --tmpfs /tmp --tmpfs /workspace --ro-bind "$npm/node_modules" /npm/node_modules \
		--setenv HOME /tmp --die-with-parent -- node /npm/node_modules/mcp-server-commands/build/index.js </dev/null >bridge.log 2>&1 &
	pids="$pids $!"
	wait_for 20 test -s port
	MCP_URL=http://127.0.0.1:$(cat port)/mcp MCP_TOKEN=no-token
	uses 'mcp-server-commands'
else
	skip 'mcp-server-commands is not installed (make deps, with npm)'
fi
finish
