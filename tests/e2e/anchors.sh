#!/usr/bin/env bash
# Anchors outside the file reveal a truncated or rebuilt file: the journal, and a tag of a git repository.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
make=${SANDGLASS%/*}/helpers/sessions/make_session
if [ ! -x "$make" ]; then
	skip "$make is not built (make helpers)"
	finish
fi
export SANDGLASS_SESSIONS=$t/sessions
mkdir -m 700 "$t/sessions"
whole=$("$make" "$t/sessions" whole 1200 2 1)
"$sg" export whole -F anchor -o "$t/lines" >/dev/null
is "$(wc -l <"$t/lines")" "$(sqlite3 "$whole" 'SELECT count(*) FROM checkpoint')" 'a line for each checkpoint'
is "$(sort -k3n "$t/lines")" "$(sort -k3n "$HOME/.local/state/sandglass/anchor.log")" 'as the recorder has noted them'

# a tag, read back
git init -q "$t/repo" && git -C "$t/repo" commit -qm x --allow-empty
git -C "$t/repo" tag -a sandglass/whole -m "$(tail -1 "$t/lines")"
git -C "$t/repo" tag -l --format='%(contents)' 'sandglass/*' >"$t/tag"
"$sg" verify whole --anchor "$t/tag" >"$t/out" 2>&1
is "$? $(grep -c '1 anchor agrees' "$t/out")" '0 1' 'a tag of a repository holds it'

echo 'nothing of it' >"$t/other"
"$sg" verify whole --anchor "$t/other" >"$t/out" 2>&1
is "$? $(grep -c "FAIL .*other' has no anchor of this session" "$t/out")" '9 1' 'a log without a line of the session proves nothing'
"$sg" verify whole --anchor "$t/none" >"$t/out" 2>&1
like "$? $(cat "$t/out")" "^2 .*--anchor: .*'$t/none'" 'nor is one that is not there: said before anything is read'

# a file that was made shorter, with all that the program itself keeps
short=$t/short.glass
cp "$whole" "$short"
sqlite3 "$short" "DROP TRIGGER event_stays; DROP TRIGGER IF EXISTS checkpoint_stays; DELETE FROM event WHERE seq > 1000; DELETE FROM checkpoint WHERE seq > 1000"
"$sg" verify "$short" --anchor "$t/tag" >"$t/out" 2>&1
is $? 9 'a shorter one does not agree with it'
like "$(cat "$t/out")" 'FAIL +record +anchor: gap: the file ends at event' 'and the report gives the reason'

# the journal: a listener at its socket
cat >"$t/journal.py" <<'P'
import os, socket, sys
os.makedirs("/run/systemd/journal")
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/run/systemd/journal/socket")
print("ready", flush=True)
with open(sys.argv[1], "w") as f:
    while True:
        field = dict(l.split("=", 1) for l in s.recv(65536).decode().splitlines())
        assert field["SYSLOG_IDENTIFIER"] == "sandglass" and field["PRIORITY"] == "6", field
        print(field["MESSAGE"], file=f, flush=True)
P
cat >"$t/in_run.sh" <<S
mount -t tmpfs tmpfs /run || exit 3
mkfifo "$t/up"
python3 "$t/journal.py" "$t/journal" >"$t/up" & pid=\$!
read -r _ <"$t/up"
"$make" "$t/sessions" told 1200 2 7
for _ in \$(seq 100); do [ "\$(wc -l <"$t/journal")" = "\$(sqlite3 "$t"/sessions/*told*.glass 'SELECT count(*) FROM checkpoint')" ] && break; sleep 0.05; done
kill \$pid
S
if unshare -rm true 2>/dev/null; then
	unshare -rm bash "$t/in_run.sh" >"$t/out" 2>&1 </dev/null
	[ -s "$t/journal" ]
	ok $? 'the journal receives the anchor'
	"$sg" verify told --anchor "$t/journal" >"$t/out" 2>&1
	is "$? $(grep -c "$(wc -l <"$t/journal") anchors\? agrees\?" "$t/out")" '0 1' 'the journal holds it'
else
	skip 'no mount namespaces here'
fi
finish
