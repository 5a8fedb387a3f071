#!/bin/bash
# what the suite's scenarios want of a client; the URL is the last word
for url; do :; done
list=$(timeout 15 "$SANDGLASS" mcp test --json --url "$url") || exit 1
status=0
call() { # tool, arguments
	case $list in *"\"name\":\"$1\""*) timeout 20 "$SANDGLASS" mcp call "$1" "$2" --url "$url" || status=$? ;; esac
}
case $MCP_CONFORMANCE_SCENARIO in
sse-retry) call test_reconnection '{}' ;;
http-custom-headers)
	printf '%s' "$MCP_CONFORMANCE_CONTEXT" | python3 -c 'import json,sys
for c in json.load(sys.stdin).get("toolCalls", []): print(c["name"] + "\t" + json.dumps(c.get("arguments", {})))' |
	while IFS=$'\t' read -r name args; do call "$name" "$args"; done ;;
http-invalid-tool-headers) call valid_tool '{"region":"eu"}' ;;
sep-2322-client-request-state)
	for tool in $(printf '%s' "$list" | grep -o '"name":"test_[a-z_]*"' | cut -d'"' -f4); do call "$tool" '{}'; done ;;
json-schema-2020-12-preservation)   # gives back a tool's schema as it was listed
	schema=$(printf '%s' "$list" | python3 -c 'import json,sys
tools = {t["name"]: t["inputSchema"] for t in json.load(sys.stdin)["tools"]}
print(json.dumps({"schema": tools["json_schema_2020_12_tool"]}))')
	call json_schema_echo "$schema" ;;
*) call add_numbers '{"a":5,"b":3}' ;;
esac
exit $status
