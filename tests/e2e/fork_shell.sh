#!/usr/bin/env bash
# A fork between a shell's command and its answer: the answer comes from the recording, once, although the shell has
# gone.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
export SANDGLASS_SESSIONS=$t/sessions
cd "$t" || exit 1
cat >shell.lua <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox {}
local sh = box:shell()
local r, e = sh:run "echo x >>f; echo told; wc -l <f"
print("one", r and r.out or e)
r, e = sh:run "echo more"
print("two", r and r.out or e)
r, e = box:exec "wc -l <f"
print("three", r and r.out or e)
L
"$sg" run --no-tui shell.lua </dev/null >out 2>&1
is $? 0 'a script with a shell'
id=$("$sg" ls --json | sed 's/.*"session":"\([^"]*\)".*/\1/')
notes() { "$sg" events "$1" --json | grep '"kind":"note"' | sed 's/.*"text":"\([^"]*\)".*/\1/'; }
is "$(notes "$id" | head -1)" 'one\ttold\n1\n' 'what its first command says'
at=$("$sg" events "$id" --json | grep '"kind":"snapshot.taken"' | sed -n 2p | sed 's/.*"seq":\([0-9]*\).*/\1/')
"$sg" fork "$id#$at" --name f --no-tui </dev/null >out 2>&1
is $? 0 'a fork after the command and before its answer'
f=$(ls "$SANDGLASS_SESSIONS"/*-f-*.glass)
is "$(notes "$f" | head -1)" 'one\ttold\n1\n' 'is answered from the record, with the same words, once'
like "$(notes "$f" | sed -n 2p)" 'this shell has ended' 'a new command gets an error that names the lost shell'
is "$(notes "$f" | sed -n 3p)" 'three\t1\n' 'and the first was not made again'
"$sg" verify "$f" >out 2>&1
is $? 0 'the record verifies'
finish
