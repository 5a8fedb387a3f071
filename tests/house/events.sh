#!/usr/bin/env bash
# schema/events.json is what the declarations of events (src/*/events.def) say now. As TAP.
set -u
: "${SANDGLASS:?the program under test}"
cd "$(dirname "$0")/../.." || exit 1
made=$(dirname "$SANDGLASS")/gen/events.json
if cmp -s "$made" schema/events.json; then
	echo 'ok 1 - schema/events.json is current'
else
	echo 'not ok 1 - schema/events.json is current'
	echo "#   make && cp $made schema/events.json"
fi
echo 1..1
cmp -s "$made" schema/events.json
