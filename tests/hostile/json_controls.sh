#!/usr/bin/env bash
# JSON for a terminal or another program contains no DEL, no C1 control, and no line separator as bytes, whatever their
# source.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
cd "$t" || exit 1
cat >say.lua <<'L'
local sg = require "sandglass"
local bad = "a\127\u{80}\u{9b}31m\u{9f}\u{2028}\u{2029}z"
sg.note(bad)
print(bad)
sg.store.set(bad, bad)
L
"$sg" run say.lua --name said --no-input --no-tui --json >run.json 2>err </dev/null
file=$(ls "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
bytes() { LC_ALL=C grep -cP '\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]' "$1"; }
for what in 'events --json' 'show --json' 'ls --json' 'verify --json' 'search --json z' 'export --format jsonl' 'export --format atif' 'export --format otlp' 'export --format inspect'; do
	set -- $what
	command=$1
	shift
	case $command in
	search | ls) timeout 60 "$sg" "$command" "$@" >got.json 2>err ;;
	*) timeout 60 "$sg" "$command" "$file" "$@" >got.json 2>err ;;
	esac
	[ -s got.json ] && is "$(bytes got.json)" 0 "$what" || ok 1 "$what prints something"
done
is "$(bytes run.json)" 0 'run --json'
is "$("$sg" events "$file" --json | python3 -c '
import json, sys
print(sum("\x9b" in json.dumps(json.loads(l), ensure_ascii=False) for l in sys.stdin) > 0)')" True 'the text itself is still in it'
finish
