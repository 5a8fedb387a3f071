#!/usr/bin/env bash
# Many sessions as tables: the queries of schema/README.md run in DuckDB (duckdb.txt, by pip, kept in the build folder) and
# agree with what sandglass reports; the fields are those of schema/tables.clickhouse.sql.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
make=${SANDGLASS%/*}/helpers/sessions/make_session
top=$(cd "$here/../.." && pwd)
venv=${SANDGLASS%/*}/duckdb wanted=$top/tests/outside/duckdb.txt
for tool in "$make" sqlite3 python3 jq; do
	command -v "$tool" >/dev/null || { skip "$tool is needed"; finish; }
done
export SANDGLASS_SESSIONS=$t/sessions TZ=UTC
mkdir -m 700 "$t/sessions" "$t/made"
for i in 1 2 3; do # the helper gives each the same id
	file=$("$make" "$t/made" "made$i" $((i * 300)) 2 "$i" | tail -1)
	mv "$file" "$t/sessions/2025-11-2$i-made$i-made0$i.glass"
done
cd "$t" || exit 1
"$sg" archive made1 >"$t/out" 2>&1
"$sg" export --all -F tables -o tables --json >"$t/told" 2>"$t/out"
is $? 0 'all sessions, also an archived one, become tables'
count_of() { grep -oE "\"$1\":[0-9]+" "$t/told" | cut -d: -f2; }
lines() { cat tables/"$1"/*/part.jsonl 2>/dev/null | wc -l; }
for table in sessions actions events files model_calls claims; do
	is "$(lines $table)" "$(count_of $table)" "$table has as many rows as the result says ($(count_of $table))"
	fields=$(cat tables/$table/*/part.jsonl | python3 -c 'import json, sys; print(*sorted({" ".join(json.loads(l)) for l in sys.stdin}), sep="\n")')
	columns=$(awk -v table="$table" '$1 == "CREATE" { on = $3 == table; next } /^\)/ { on = 0 } on { print $1 }' "$top/schema/tables.clickhouse.sql" | tr '\n' ' ')
	is "$fields" "${columns% }" "the fields of $table are the columns of the ClickHouse table"
done
is "$(count_of sessions) $(ls -d tables/*.part* tables.* 2>/dev/null | wc -l)" '3 0' 'three sessions, and nothing else is left'
events=0
for file in $(find sessions -name '*.glass'); do events=$((events + $(sqlite3 -readonly "$file" 'SELECT count(*) FROM event'))); done
is "$(count_of events)" "$events" 'every event is a row'
"$sg" export --all -F tables -o tables >"$t/out" 2>&1
is $? 2 'a directory that is there is not replaced' || true
"$sg" export --all --until 2000-01-01 -F tables -o none --json >"$t/none.json" 2>"$t/out"
is "$(grep -oE '"events":[0-9]+' "$t/none.json")" '"events":0' '--until narrows'
seq=$(sqlite3 -readonly sessions/*made2*.glass "SELECT seq FROM event WHERE kind = 431 ORDER BY seq LIMIT 1")
"$sg" redact "made2#$seq" --why test --yes >"$t/out" 2>&1
"$sg" export --all -F tables -o tables --force >"$t/out" 2>&1
is "$? $(grep -h "\"action\":[0-9]*,.*\"redacted\":true" tables/model_calls/*/part.jsonl | grep -c '"cost_uusd":null')" '0 1' 'a redacted reply has no cost, and is replaced with --force'
printf 'no session' >sessions/2025-11-24-bad-bad001.glass
"$sg" export --all -F tables -o partly --json >"$t/partly.json" 2>"$t/out"
is "$? $(grep -oE '"left_out":[0-9]+' "$t/partly.json")" '1 "left_out":1' 'one that cannot be read is named, and the status says so'
rm sessions/2025-11-24-bad-bad001.glass
is "$(jq -r .files_left_out "$t/told")" 0 'no change is left out of files'
if (need_boxes) >/dev/null 2>&1; then
	git init -q many
	echo 'local b = require "sandglass".sandbox { repo = "many" }; b:run "seq 2003 | xargs touch"; b:close()' >many.lua
	SANDGLASS_SESSIONS=$t/long "$sg" run many.lua </dev/null >"$t/out" 2>&1
	"$sg" export long/*.glass -F tables -o long.tables --json >"$t/long.json" 2>"$t/out"
	is "$? $(jq -r '"\(.files) \(.files_left_out)"' "$t/long.json") $(grep -c ' 3 changes' "$t/out")" '0 2000 3 1' \
		'changes beyond the list of their event are counted and named'
fi

if ! cmp -s "$wanted" "$venv/duckdb.txt"; then
	rm -rf "$venv"
	{ python3 -m venv "$venv" && timeout 600 "$venv/bin/pip" install -q -r "$wanted" && cp "$wanted" "$venv/"; } >"$t/out" 2>&1 </dev/null
fi
if [ ! -f "$venv/duckdb.txt" ]; then
	skip "pip could not fetch duckdb: $(tail -1 "$t/out")"
	finish
fi
cat >"$t/ask.py" <<'P'
import duckdb, re, sys
blocks = re.findall(r"^```sql\n(.*?)^```$", open(sys.argv[1]).read(), re.S | re.M)
for sql in blocks:
    print(len(duckdb.sql(sql).fetchall()))
P
"$venv/bin/python" "$t/ask.py" "$top/schema/README.md" >"$t/counts" 2>"$t/out"
is "$? $(wc -l <"$t/counts") $(grep -cvx 0 "$t/counts")" '0 5 5' 'each query of the guide runs in DuckDB and finds something'
"$venv/bin/python" -c 'import duckdb; print(*duckdb.sql("SELECT sum(events), sum(actions), sum(cost_uusd) FROM read_json('"'tables/sessions/*/part.jsonl'"')").fetchone())' >"$t/sums" 2>"$t/out"
"$venv/bin/python" -c 'import duckdb; print(*duckdb.sql("SELECT (SELECT count(*) FROM read_json('"'tables/events/*/part.jsonl'"', columns = {seq: '"'BIGINT'"'})), (SELECT count(*) FROM read_json('"'tables/actions/*/part.jsonl'"')), (SELECT sum(cost_uusd) FROM read_json('"'tables/model_calls/*/part.jsonl'"'))").fetchone())' >"$t/rows" 2>>"$t/out"
is "$(cat "$t/sums")" "$(cat "$t/rows")" 'sessions and their rows have the same sums'
finish
