#!/usr/bin/env bash
# What we export, in a real browser and in other people's players: the HTML page plays in Chromium and runs nothing that was
# recorded; casts play in asciinema-player and in Debian's asciinema. PICTURES=DIR keeps what the browser showed.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
browser=$(command -v chromium-headless-shell || command -v chromium || true)
pictures=${PICTURES:-$t}
export SANDGLASS_SESSIONS=$t/sessions
mkdir -m 700 "$t/sessions"
look() { # page, picture, steps...
	local page=$1 picture=$2
	shift 2
	timeout 120 python3 "$here/../outside/browser.py" "$browser" "file://$page" "$pictures/$picture" "$@" </dev/null 2>&1
}
cat >"$t/hostile.lua" <<'LUA'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
box:exec "printf '%s\\n' '</script><script>document.title=\"owned\";alert(1)</script><img src=x onerror=alert(2)>'"
box:exec "printf '%s\\n' '<a href=\"javascript:alert(3)\">link</a> <iframe src=\"https://example.org/\"></iframe> <svg onload=alert(4)>'"
box:write("<img src=x onerror=alert(5)>.txt", "one\ntwo\n")
box:exec "printf '\\033]52;c;eA==\\007\\033[31mred\\033[0m \\033]8;;javascript:alert(6)\\007here\\033]8;;\\007\\n'; exit 3"
print("<script>alert(7)</script> <!-- ]]> &lt;")
for i = 1, 8 do box:exec("echo line " .. i) end
LUA
accept_any
timeout 120 "$sg" run "$t/hostile.lua" --name hostile --no-input --no-tui $accept >"$t/out" 2>&1 </dev/null
ok $? 'a session with hostile content'
if [ -z "$browser" ]; then
	skip 'no Chromium here (apt-get install chromium)'
else
	"$sg" export hostile -F html -o "$t/page.html" >/dev/null
	shown='document.querySelectorAll("article:not([hidden])").length'
	look "$t/page.html" page.png "$shown" 'document.querySelectorAll("img, a, iframe, svg, article script").length' \
		'["onerror=alert(2)", "javascript:alert(3)", "onerror=alert(5)", "^[]52;c;eA==^Gred ^[]8;;javascript:alert(6)", "<script>alert(7)"].every(x => document.body.textContent.includes(x))' >"$t/out"
	items=$(sed -n '1s/value: //p' "$t/out")
	[ "${items:-0}" -ge 13 ]
	ok $? "HTML: $items items are there, and the page's policy and console have nothing to tell"
	is "$(sed -n '2,3p' "$t/out" | tr '\n' ' ')" 'value: 0 value: true ' 'recorded text stays text'
	look "$t/page.html" playing.png 'fast = document.querySelector("select"), fast.value = "4", fast.onchange(), play.click(), "plays"' \
		'new Promise(done => { const seen = new Set(), t = setInterval(() => { seen.add('"$shown"');
			if (play.textContent === "Play") { clearInterval(t); done(seen.size > 2 && '"$shown"' === '"$items"'); } }, 5); })' \
		'[...document.querySelectorAll("button")].find(b => b.textContent === "next failed").click()' \
		'document.querySelector("article.now .mark").textContent' >"$t/out"
	is "$(cat "$t/out")" 'value: plays
value: true
value: null
value: exit 3' 'it plays to its end, item by item, and finds what failed'
	sed 's#</body>#<script>document.title="owned"</script><img src=x onerror="document.title=1"></body>#' "$t/page.html" >"$t/changed.html"
	look "$t/changed.html" changed.png 'document.title' >"$t/out"
	like "$(cat "$t/out")" 'log: (security|violation) .*Content Security Policy' 'a script that is put into the page is refused'
	unlike "$(cat "$t/out")" 'value: (owned|1)$' 'and does not run'
fi

for v in 2 3; do
	"$sg" export hostile -F asciicast-v$v -o "$t/v$v.cast" >/dev/null
done
player=${SANDGLASS%/*}/outside/player
bundle=$player/node_modules/asciinema-player/dist/bundle
if [ -n "$browser" ] && [ ! -e "$bundle" ] && command -v npm >/dev/null; then
	mkdir -p "$player"
	echo '{"private":true}' >"$player/package.json"
	(cd "$player" && timeout 300 npm install --no-audit --no-fund --loglevel=error asciinema-player@3.18.0) >"$t/out" 2>&1 </dev/null
fi
if [ -z "$browser" ] || [ ! -e "$bundle" ]; then
	skip 'no asciinema-player (npm) or no Chromium here'
else
	for v in 2 3; do
		{
			printf '<!DOCTYPE html><meta charset="utf-8"><link rel="stylesheet" href="%s/asciinema-player.css"><body><div id="p"></div>' "$bundle"
			printf '<script src="%s/asciinema-player.min.js"></script><script>p = AsciinemaPlayer.create("data:text/plain;base64,%s",' \
				"$bundle" "$(base64 -w0 "$t/v$v.cast")"
			echo 'document.getElementById("p"), { speed: 50, idleTimeLimit: 0.5, fit: "width", theme: "asciinema" })</script>'
		} >"$t/player$v.html"
		look "$t/player$v.html" "player$v.png" \
			'new Promise(done => { p.addEventListener("ended", () => setTimeout(() => done("ended"), 500)); p.play(); })' \
			'document.body.innerText.includes("line 8")' >"$t/out"
		is "$(cat "$t/out")" 'value: ended
value: true' "asciicast $v: asciinema-player plays it to its end"
	done
fi
if command -v asciinema >/dev/null; then
	LC_ALL=C.UTF-8 timeout 60 asciinema cat "$t/v2.cast" >"$t/out" 2>&1 </dev/null
	like "$(cat "$t/out")" 'line 8' 'asciicast 2: asciinema cat'
	LC_ALL=C.UTF-8 TERM=xterm timeout 60 script -qec "asciinema play -s 100 -i 0.01 $t/v2.cast" "$t/typescript" </dev/null >"$t/out"
	like "$(cat "$t/out")" 'line 8' 'asciinema play'
else
	skip 'no asciinema here (apt-get install asciinema)'
fi
finish
