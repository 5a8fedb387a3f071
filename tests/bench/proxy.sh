#!/usr/bin/env bash
# The inference proxy of a box against a direct connection to the same server: the first byte, a stream at a model's pace and as
# fast as it goes, a hundred at once, its memory over many calls. All of it is recorded meanwhile.
set -u
cd "$(dirname "$0")/../.." || exit 2
sg=$PWD/${B:-build}/sandglass here=$PWD/tests/bench calls=${1:-10000}
t=$(mktemp -d)
chmod 755 "$t"
export HOME=$t/home XDG_RUNTIME_DIR=$t/run KEY=no-real-key no_proxy=127.0.0.1
mkdir -p "$HOME" "$XDG_RUNTIME_DIR" "$t/repo"
chmod 700 "$XDG_RUNTIME_DIR"
cp "$here/proxy_client.py" "$t/repo/client.py"
cd "$t" || exit 2
python3 "$here/stream_server.py" >port 2>/dev/null </dev/null &
pid=$!
trap 'kill $pid 2>/dev/null; rm -rf "$t"' EXIT
for _ in $(seq 50); do [ -s port ] && break; sleep 0.1; done
url=http://127.0.0.1:$(cat port)
cat >in.lua <<'L'
local sg = require "sandglass"
local a = sg.args { url = "", "words..." }
local px <close> = sg.proxy { name = "llm", routes = {
  model = { speak = "anthropic", url = a.url, header = { ["x-api-key"] = sg.secret "KEY" }, allow = { "POST *" } },
} }
local box <close> = sg.sandbox { proxies = { px }, repo = "repo" }
local argv = { "python3", "/workspace/client.py", px.urls.model, px.key }
for _, w in ipairs(a.words) do argv[#argv + 1] = w end
local r = assert(box:exec(argv))
print(r.ok and "GOT " .. r.out or "BAD " .. r.err)
L
direct() { python3 "$here/proxy_client.py" "$url" none "$@"; }
through() {
	"$sg" run --no-tui --no-input in.lua -- --url "$url" -- "$@" >out 2>&1 </dev/null
	sed -n 's/.*GOT //p' out | head -1 | grep . || { tail -3 out >&2; exit 2; }
}
verdict() { [ "$1" = 1 ] && echo PASS || echo FAIL; }
# a call is recorded before it is made: one fdatasync of the session's file system is in it, and stands beside it
sync_us=$(python3 - "$t" <<'P'
import os, sys, time
f = os.open(sys.argv[1] + "/sync", os.O_CREAT | os.O_WRONLY, 0o600)
took = []
for _ in range(60):
    os.write(f, b"x" * 4096)
    at = time.perf_counter()
    os.fdatasync(f)
    took.append(time.perf_counter() - at)
print(int(sorted(took)[30] * 1e6))
P
)
direct first 20 >/dev/null
read -r d d95 < <(direct first 200)
read -r p p95 < <(through first 200) || exit 2
over=$((p - d))
printf 'first byte: direct %d us (95%%: %d), through the proxy %d us (95%%: %d); one fdatasync here %d us\n' "$d" "$d95" "$p" "$p95" "$sync_us"
printf '%-70s %d us over direct, <= 2000  %s\n' 'first byte through the proxy' "$over" "$(verdict $((over <= 2000)))"
read -r d _ < <(direct stream 6000@2000)
read -r p bytes < <(through stream 6000@2000) || exit 2
printf '%-70s %d.%d %% slower, <= 3 %%  %s\n' "a stream of 2,000 events a second ($((bytes / 1024)) KB, $((d / 1000)) ms)" \
	$(((p - d) * 100 / d)) $((((p - d) * 1000 / d) % 10 < 0 ? 0 : ((p - d) * 1000 / d) % 10)) "$(verdict $(((p - d) * 100 <= 3 * d)))"
read -r d _ < <(direct stream 100000)
read -r p bytes < <(through stream 100000) || exit 2
printf 'as fast as it goes: direct %d MB/s, through the proxy (read, judged, recorded) %d MB/s = %d events/s\n' \
	$((bytes / d)) $((bytes / p)) $((100000 * 1000000 / p))
read -r d _ < <(direct many 100 500@100)
read -r p whole < <(through many 100 500@100) || exit 2
printf '%-70s %d of 100 whole, %d ms (direct %d ms), <= 3 %%  %s\n' '100 streams at once, 100 events a second each' "$whole" $((p / 1000)) $((d / 1000)) \
	"$(verdict $((whole == 100 && (p - d) * 100 <= 3 * d)))"
# its memory, looked at while the calls go through
id=$("$sg" run -d in.lua -- --url "$url" -- calls "$calls" </dev/null)
super=$("$sg" events "$id" --json | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')
began=$(date +%s%N)
: >rss
while [ -d "/proc/$super" ]; do
	kb=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$super/status" 2>/dev/null)
	[ -z "$kb" ] || echo "${EPOCHREALTIME/,/.} $kb" >>rss
	sleep 0.1
done
[ -z "${RSS:-}" ] || cp rss "$RSS"
took=$((($(date +%s%N) - began) / 1000))
"$sg" events "$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)" --json | grep '"kind":"model.reply"' >replies
got=$(wc -l <replies)
# The last reply is followed by the end of the session: its index and its file are finished
last=$(date +%s.%6N -d "$(tail -1 replies | grep -oE '"time":"[^"]+"' | cut -d'"' -f4)")
most=$((calls < 5000 ? 4 : 1)) # MB: the cache of the session file is full after some 3,000 calls
read -r early late < <(awk -v last="$last" '$1 <= last { kb[n++] = $2 }
	END { for (i = 0; i < n; i++) { if (kb[i] > late) late = kb[i]; if (i < n / 2) early = late }; print early + 0, late + 0 }' rss)
printf '%-70s %d KB after half of them, %d KB at the last one, <= %d MB more  %s\n' "memory over $got calls one after another ($((took / (got > 0 ? got : 1))) us each)" \
	"$early" "$late" "$most" "$(verdict $((got == calls && late - early <= most * 1024)))"
