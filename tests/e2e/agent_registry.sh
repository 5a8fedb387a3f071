#!/usr/bin/env bash
# Agents by their id in a copy of the ACP registry: the program that is installed runs with the registry's arguments and
# environment; others are refused before anything starts.
. "$(dirname "$0")/lib.sh"
need_boxes
need python3 jq
sg=$SANDGLASS
cd "$t" || exit 1
mkdir -p tool/bin && git init -q repo && git -C repo commit -q --allow-empty -m first || exit 1
cp "$here/inside/acp_agent.py" tool/bin/agent.py
printf '#!/bin/sh\n[ "$*" = "serve --acp" ] && [ "$SMALL" = "a b=c" ] || exit 9\nexec python3 "$(dirname "$0")/agent.py"\n' >tool/bin/acp-small
chmod 755 tool/bin/acp-small
cat >registry.json <<'J'
{ "version": "1.0.0", "agents": [
  { "id": "other", "name": "Other", "version": "1", "distribution": {
    "npx": { "package": "@maker/other-agent@1.2.3" }, "binary": { "linux-x86_64": { "archive": "https://example.org/o.tar.gz", "cmd": "./other" },
    "linux-aarch64": { "archive": "https://example.org/o.tar.gz", "cmd": "./other" } } } },
  { "id": "named", "name": "Named", "version": "1", "distribution": { "npx": { "package": "@maker/named@2.0.0", "args": ["serve", "--acp"],
    "env": { "SMALL": "a b=c" } } } },
  { "id": "mac", "name": "Mac", "version": "1", "distribution": { "binary": { "darwin-aarch64": { "archive": "x", "cmd": "./mac" } } } },
  { "id": "small", "name": "Small", "version": "1", "distribution": {
    "npx": { "package": "@maker/not-installed" },
    "uvx": { "package": "acp-small[all]==1.2", "args": ["serve", "--acp"], "env": { "SMALL": "a b=c" } } } } ] }
J
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
PATH=$t/tool/bin:$PATH timeout 100 "$sg" run --no-tui --no-input --policy any.lua --repo repo --agent small --registry registry.json -e 'touch:a say:hello' >"$t/out" 2>&1 </dev/null
ended=$("$sg" events "$("$sg" ls --json | jq -r .session | head -1)" --json | jq -r 'select(.kind == "agent.end").body | "\(.ok) \(.text)"')
is "$ended" 'true prompt 1 done' 'the agent does its task, over ACP'
is "$("$sg" ls --json | jq -r .name | head -1)" small 'its session has its id as a name'
mkdir -p tool/lib/node_modules/@maker/named && echo '{ "name": "@maker/named", "bin": { "acp-small": "x" } }' >tool/lib/node_modules/@maker/named/package.json
is "$(PATH=$t/tool/bin:$PATH "$sg" run -n --json --repo repo --agent named --registry registry.json -e x 2>"$t/out" | grep -c tool/bin/acp-small)" 1 \
	'the program of an npm package is the one that it declares'
before=$("$sg" ls --json | wc -l)
refused() { # name, code and words, arguments
	fails "$1" "$2" "$sg" run --no-tui --repo repo -e x "${@:3}"
}
refused 'not in the registry: the nearest id is named' "2 noent 'smal' small" --agent smal --registry registry.json
refused 'not installed: what installs it is named' "2 noent other-agent npm @maker/other-agent@1.2.3 https://example.org/o.tar.gz" --agent other --registry registry.json
refused 'not for this platform' "2 noent mac linux" --agent mac --registry registry.json
refused 'no copy of the registry' "2 parse any.lua" --agent small --registry any.lua
refused 'no file' "2 noent none.json" --agent small --registry none.json
fails '--registry without an agent' '2 usage --agent' "$sg" run --registry registry.json -e x
is "$("$sg" ls --json | wc -l)" "$before" 'and no session was opened'
finish
