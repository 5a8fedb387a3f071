#!/usr/bin/env bash
# sandbox cp of directories, in both directions: each file is an action of its own, and no file from outside the
# directory is copied.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need jq
need_boxes
cd "$t" || exit 1
cat >stay.lua <<'LUA'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "fix" }
assert(box:exec [[
mkdir -p out/deep/er out/.git out/none; echo one >out/one; echo two >out/deep/er/two; printf 'n' >"out/a
b"; chmod 755 out/one; chmod 4777 out/deep/er/two
ln -s /etc/passwd out/link; ln -s deep out/way; mkfifo out/pipe; echo evil >out/.git/config; echo x >plain
ln -s out to_out; mkdir -p .git/hooks out/GIT~1 sub; echo evil | tee .git/hooks/pre-commit >out/GIT~1/hook; chmod 755 .git/hooks/pre-commit
mkdir -p many/a many/b; for i in $(seq 100); do echo a$i >many/a/$i; echo b$i >many/b/$i; done]])
sg.mark "ready"
sg.sleep "1h"
LUA
cat >rules.lua <<'LUA'
local p = require "sandglass.policy"
return p.rules { p.deny "no-bin" { kind = { "put", "get" }, path = "**/*.bin", say = "No programs." } }
LUA
id=$("$sg" run -d stay.lua --policy rules.lua)
is_ready() { "$sg" events "$id" --json | grep -q '"text":"ready"'; }
wait_for 20 is_ready
ok $? 'a box that stays'
cp_() { "$sg" sandbox cp "$@" >"$t/out" 2>"$t/err" </dev/null; }
mode() { stat -c %a "$1"; }

# --- out of it ---
cp_ fix:out got
is $? 0 'a folder is copied out'
like "$(cat "$t/out")" "^fix:out, 3 files, 9 B, to .*/got, 5 left out$" 'with the totals'
is "$(cat got/one got/deep/er/two $'got/a\nb' | xargs)" 'one two n' 'the same bytes, the same names, a newline in one too'
is "$(mode got/one) $(mode got/deep/er/two) $(mode $'got/a\nb')" '755 755 644' 'modes as they are, but nothing set-uid and nothing for others to write'
is "$(ls -A got | tr '\n' ' ')" 'a b deep none one ' 'no links, no pipes, no .git; an empty directory'
like "$(sort "$t/err" | xargs -d '\n')" "left out: out/.git, git's own left out: out/GIT~1, git's own left out: out/link, a link left out: out/pipe, neither a file nor a directory left out: out/way, a link" 'what stays out is named'
mkdir here && cp_ fix:out here/ && cp_ fix:out/. here/in && cp_ fix:to_out/deep here
is "$(cat here/out/one here/in/one here/deep/er/two | xargs)" 'one one two' 'into a directory, as a new one, with its files'
is "$("$sg" events "$id" --json | jq -r 'select(.kind == "action.requested" and .body.kind == "get") | .body.path' | grep -c 'out/one$\|out/./one$')" 3 'each file is an action'
mkdir t1 && ln -s /etc t1/out && cp_ fix:out t1
is "$? $(grep -c "^sandglass: " "$t/err")" '2 1' 'a link here is not gone through'
like "$(cat "$t/err")" "t1/out' exists and is not a directory" 'in one line'
mkdir -p t3/many/b/50 && cp_ fix:many t3
is "$? $(find t3 -type f | wc -l) $(cat t3/many/a/100 t3/many/b/1 | xargs)" '1 199 a100 b1' 'many are on their way at once, and one that fails stops none'
like "$(cat "$t/err")" '^sandglass: .*many/b/50' 'and it is named'
is "$("$sg" events "$id" --json | jq -r 'select(.kind == "action.requested" and .body.kind == "get") | .body.path' | grep -c 'many/')" 200 'each is an action of its own'
mkdir -p t2/out/one && cp_ fix:out t2
is "$? $(cat t2/out/deep/er/two)" '1 two' 'where one fails the others are copied'
like "$(grep -v 'left out' "$t/err")" '^sandglass: .*t2/out/one' 'and it is named'
mkdir -p host/.git/hooks
for from in .git .git/ ./.git .git/. .GIT git~1 .git/hooks .git/hooks/pre-commit sub/../.git; do
	(cd host && cp_ "fix:$from" .)
	s=$?
	is "$s $(grep -c "^sandglass: " "$t/err") $(grep -c "'$from' belongs to git" "$t/err") $(find host -type f | wc -l)" '2 1 1 0' "no way out for $from"
done
(mkdir -p up/out && cd up && cp_ fix:sub/../out/deep/.. out)
is "$? $(ls -A up | xargs) $(cat up/out/one)" '0 out one' 'FROM/.. stays in TO, too'
(cd up && cp_ fix:plain .)
is "$(cat up/plain) $(grep -c '/\./' "$t/out")" 'x 0' 'a file into "."'

# --- into it ---
mkdir -p src/sub/.git src/hollow && echo in >src/in && echo run >src/sub/run && chmod 700 src/sub/run && echo x >src/sub/x.bin && echo K=1 >src/.env
ln -s /etc/hostname src/link && printf b >$'src/sub/b\nc' && echo c >src/sub/.git/config
cp_ src fix:
is $? 1 'a folder is copied in; a rule denies one file'
like "$(grep -v 'left out' "$t/err")" 'denied: No programs' 'with its reason'
like "$(cat "$t/out")" '/src, 3 files, 8 B, to fix:src, 4 left out$' 'with what it came to'
like "$(grep 'left out' "$t/err" | sort | sed "s|$PWD/||" | xargs -d '\n')" "left out: src/.env, named like a secret left out: src/hollow, an empty directory left out: src/link, a link left out: src/sub/.git, git's own" 'what stays out is named'
cp_ fix:src back
is "$(cat back/in back/sub/run $'back/sub/b\nc' | xargs) $(mode back/sub/run)" 'in run b 700' 'it is there, with its modes'
rm src/sub/x.bin
cp_ src/.env fix:src/ && cp_ src fix:new/place && cp_ src fix:new && cp_ src/sub/. fix:new && cp_ fix:new new --json
is "$(find new -type f -printf '%P\n' | sort | tr '\n' ' ')" "$(printf '%s\n' place/in place/sub/b c place/sub/run run b c src/in src/sub/b c src/sub/run | sort | tr '\n' ' ')" 'as a new directory, into an existing one, with its files'
is "$(jq -r '.done + " " + .box' "$t/out" | sort | uniq -c | xargs)" "$(find new -type f | tr '\n' ' ' | grep -o new/ | wc -l) get fix" '--json: an object for each'

(cd src/sub && cp_ .git fix:x)
is "$? $(grep -c "'.git' belongs to git" "$t/err")" '2 1' 'a .git of this machine is not copied either'

# --- what cannot be ---
mkfifo queue
for wrong in 'queue fix:' 'src fix:plain' 'fix:pipes got' 'fix:out plainfile' 'fix:out no/such/folder' 'src none:' 'fix: .' 'fix:. x' 'gone fix:'; do
	: >plainfile
	cp_ $wrong
	s=$?
	like "$s $(grep -vc 'left out' "$t/err") $(grep -v 'left out' "$t/err" | head -1)" '^[1-9] [1-9] sandglass' "cp $wrong: $(grep -v 'left out' "$t/err" | head -1)"
done
"$sg" stop --now >/dev/null
ended() { [ "$("$sg" ls --json | jq -r .state | head -1)" != running ]; }
wait_for 20 ended
"$sg" verify "$id" >"$t/out" 2>&1
ok $? 'the record verifies'
finish
