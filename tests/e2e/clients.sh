#!/usr/bin/env bash
# The client table of plugins/README.md: real programs in a sandbox with an allow list, over http and https, with an
# upload of 13 MB, a stream, and a refusal whose reason the client prints. CLIENTS_DIR has the clients of others
# (tests/npm/clients.sh), and CLIENTS_ALL=1 asks for all of them; a missing client is a skip. GOLDEN=1 rewrites the table.
# A name with a dot for this host, in a mount namespace with its own /etc/hosts: clients don't use a proxy for "localhost",
# and Java names no other in TLS.
name=server.sandglass.test
if [ -z "${OWN_HOSTS:-}" ]; then
	OWN_HOSTS=$(mktemp)
	{ cat /etc/hosts; echo "127.0.0.1 $name"; } >"$OWN_HOSTS"
	export OWN_HOSTS
	unshare -m true 2>/dev/null &&
		exec unshare -m sh -c 'mount --bind "$OWN_HOSTS" /etc/hosts && rm "$OWN_HOSTS" && exec "$@"' - "$BASH" "$0" "$@"
	rm "$OWN_HOSTS"
fi
. "$(dirname "$0")/lib.sh"
need_boxes
need python3 openssl git curl
cd "$t" || exit 1
clients=${CLIENTS_DIR:-$(dirname "$SANDGLASS")/clients}
guide=$here/../../plugins/README.md
export SANDGLASS_SESSIONS=$t/sessions SANDGLASS_EGRESS_LOCAL=1
getent ahostsv4 "$name" >/dev/null || { skip 'no mount namespace here for a name of its own in /etc/hosts'; finish; }
. "$here/clients/servers.bash"

servers_start
. "$here/clients/rows.bash"
trap 'servers_stop; end_all' EXIT

mkdir repo && cp -r "$here"/clients/programs "$here/clients/gap.py" repo/ && cp ca.crt repo/
for made in programs.go classes trust.p12; do [ ! -e "$made" ] || cp -r "$made" repo/; done
git init -q repo && git -C repo add . && git -C repo commit -qm x && chmod -R a+rX repo
python3 "$here/clients/make_run.py" rows "$clients" "$name" "$http" "$https" "${ssh:-0}" "${grpc:-0}" >run.lua
cat >policy.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.allow "clients" { kind = "put" } }
L
nice "$SANDGLASS" run run.lua --name net --no-tui --no-input --policy policy.lua </dev/null >out 2>&1
is $? 0 'every client ran'
"$SANDGLASS" events net --json >events.json
python3 "$here/clients/judge.py" events.json rows table </dev/null >judged
while IFS=$'\t' read -r verdict what why; do
	case $verdict in
	ok) ok 0 "$what" ;;
	skip) skip "$what: $why" ;;
	*) echo "$why" >out; ok 1 "$what" ;;
	esac
done <judged
[ -n "${GOLDEN:-}" ] && python3 "$here/clients/table.py" write "$guide" table
python3 "$here/clients/table.py" compare "$guide" table >out 2>&1
is $? 0 'the table of the guide has these results'
"$SANDGLASS" verify net >out 2>&1
is $? 0 'the recording verifies'
finish
