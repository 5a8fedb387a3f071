#!/usr/bin/env bash
# The host driver: the suites; without a policy everything asks.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/suite.bash"
contract host host
conform host host
like "$(head -1 "$t/suite")" 'host, profile none' 'host: its isolation level is printed'
try_box '{"backend": "host"}' host "sandbox 'c' has no isolation"
cd "$t/use" || exit 1
printf 'local b <close> = require "sandglass".sandbox { backend = "host" }\nlocal r, e = b:exec "true"\nprint(r and "ran" or e.code)\n' >ask.lua
timeout 60 "$SANDGLASS" run --no-tui --no-input ask.lua </dev/null >"$t/out" 2>&1
id=$(grep -oE 's-[a-z0-9]+' "$t/out" | head -1)
like "$("$SANDGLASS" events "$id" --json)" '"kind":"note".*denied' 'nothing runs there unasked'
finish
