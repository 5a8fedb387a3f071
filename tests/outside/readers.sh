#!/usr/bin/env bash
# Third-party readers, fetched once (requirements.txt, by pip) and kept in the build directory: the published protobuf
# definitions, Inspect's own reader and writer, asciinema. With them tests/e2e/export.sh skips no check.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
make=${SANDGLASS%/*}/helpers/sessions/make_session
venv=${SANDGLASS%/*}/outside
wanted=$here/../outside/requirements.txt
if ! cmp -s "$wanted" "$venv/requirements.txt"; then
	rm -rf "$venv"
	{ python3 -m venv "$venv" && timeout 600 "$venv/bin/pip" install -q -r "$wanted" && cp "$wanted" "$venv/"; } >"$t/out" 2>&1 </dev/null
fi
if [ ! -x "$make" ] || [ ! -f "$venv/requirements.txt" ]; then
	skip "pip could not fetch what tests/outside/requirements.txt names: $(tail -1 "$t/out")"
	finish
fi
export PATH=$venv/bin:$PATH SANDGLASS_SESSIONS=$t/sessions
mkdir -m 700 "$t/sessions"
"$here/export.sh" >"$t/out" 2>&1 </dev/null
is $? 0 'exports, with every reader there'
for what in 'Inspect: its own reader takes it' 'OTLP: a span for each action, agent and the session (decoded)' 'asciinema plays it'; do
	grep -qxE "ok [0-9]+ - ${what//[()]/.}" "$t/out"
	ok $? "$what"
done

# an archive that Inspect itself has written of what we exported, and that we read back
"$make" "$t/sessions" whole 2000 3 1 >/dev/null
"$sg" export whole -F inspect -o "$t/whole.json" >/dev/null
python3 - "$t/whole.json" "$t/whole.eval" >"$t/n" 2>"$t/out" <<'P'
import sys
from inspect_ai.log import read_eval_log, write_eval_log
write_eval_log(read_eval_log(sys.argv[1]), sys.argv[2])
log = read_eval_log(sys.argv[2])
u = list(log.stats.model_usage.values())
cached = sum((x.input_tokens_cache_read or 0) + (x.input_tokens_cache_write or 0) for x in u)  # we count them in
print(sum(e.event == "tool" for s in log.samples for e in s.events), cached + sum(x.input_tokens for x in u), sum(x.output_tokens for x in u))
P
is $? 0 'Inspect writes an archive of it'
got=$("$sg" import "$t/whole.eval" --name back --json 2>"$t/out")
number() { sed "s/.*\"$1\":\([0-9]*\).*/\1/" <<<"$got"; }
is "$(number calls) $(number tokens_in) $(number tokens_out)" "$(cat "$t/n")" 'which is read with the counts that Inspect has'
is "$(number gaps)" 0 'without a gap'
"$sg" verify back >"$t/out" 2>&1
is $? 0 'and verifies'
finish
