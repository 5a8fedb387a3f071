#!/usr/bin/env bash
# A persistent shell: whatever a command does to prompt, line editor, options, terminal, or descriptors, the next
# command runs, or the end of the shell is reported with its status.
. "$(dirname "$0")/lib.sh"
need_boxes
need git
cd "$t" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
git init -q r && (cd r && seq 200 >a.txt && git add -A && git commit -qm base && seq 300 >a.txt && git commit -qam more) || exit 1
cat >s.lua <<'L'
local sg = require "sandglass"
local box = sg.sandbox { repo = "r" }
local sh, nr = assert(box:shell()), 0
local function check(what, good, r, e)
  nr = nr + 1
  print(("%s %s%s"):format(good and "GOOD" or "BAD", what, good and "" or ": " .. (r and r.code .. " " .. r.out or tostring(e))))
end
-- cmd has the status; then the shell still runs, with the same directory.
local function stays(what, cmd, code, out)
  local r, e = sh:run(cmd, { timeout = 20 })
  local good = r and (code == nil or r.code == code) and (out == nil or r.out == out)
  local after, e2 = sh:run("echo on", { timeout = 20 })
  check(what, good and after and after.code == 0 and after.out == "on\n", good and after or r, good and e2 or e)
  if not after then sh = assert(box:shell()) end
end
stays("PS1", "PS1='\\u@\\h:\\w\\$ '; echo one", 0, "one\n")
stays("PS1 exported", "export PS1='$ ' PROMPT_COMMAND='echo prompt'; echo one", 0, "one\n")
stays("PROMPT_COMMAND", "PROMPT_COMMAND='PS1=\"$(whoami)> \"; echo prompt'", 0, "")
stays("PROMPT_COMMAND as a list", "PROMPT_COMMAND=('echo one' 'PS1=x')", 0, "")
stays("PS0 and PS2", "PS0='<0>' PS2='<2>'; echo a", 0, "a\n")
stays("set -o vi", "set -o vi", 0, "")
stays("set -o emacs, in a function", "f() {\nset -o emacs\n}; f; echo f", 0, "f\n")
stays("a bashrc", "printf '%s\\n' 'set -o vi' 'PS1=\"\\u$ \"' 'PROMPT_COMMAND=date' \"alias ll='ls -l'\" 'shopt -s histappend' 'TMOUT=1' >~/.bashrc; . ~/.bashrc", 0)
sg.sleep(1.5)
stays("an open quote", "echo 'abc", 2)
stays("an open double quote, after a failure", "false\necho \"abc", 2)
stays("an open subshell", "(echo a", 2)
stays("a syntax error", "if then", 2)
stays("what is read-only", "readonly R=1; R=2; echo not")
stays("status of the last", "(exit 7)", 7)
stays("set -e", "set -e", 0)
stays("a failure after set -e", "false", 1)
stays("set -x", "set -x; true; set +x", 0)
stays("set -u", "set -u; echo ${none:-none}; set +u", 0, "none\n")
stays("standard error closed", "exec 2>&-", 0)
stays("standard error elsewhere", "exec 2>/dev/null; echo a", 0, "a\n")
stays("standard input elsewhere", "exec </dev/null", 0)
stays("git log", "git log | tail -1 >/dev/null; git log --format=%s", 0, "more\nbase\n")
stays("git diff", "git diff HEAD~1 --stat | tail -1 >/dev/null; git diff HEAD~1 >/dev/null", 0)
stays("echo turned on", "stty echo", 0)
stays("and off again", "echo two", 0, "two\n")
stays("a terminal in raw mode", "stty raw -echo")
stays("which is over", "stty sane -echo -onlcr; echo a", 0)
local before = sh:run "cd /tmp; V=kept; echo $PWD"
for _, cmd in ipairs { "exec bash --norc -i", "cat", "trap '' INT; sleep 60; trap - INT", "sh -c 'trap \"\" INT; while :; do sleep 1; done'",
  "stty raw; sleep 60" } do
  local r, e = sh:run(cmd, { timeout = 0.5 })
  check("time limit: " .. cmd, not r and e.code == "timeout", r, e)
  r, e = sh:run("echo on", { timeout = 20 })
  check("the shell after it", r and r.out == "on\n", r, e)
end
local v = sh:run "cd /tmp; V=kept"
v = sh:run "echo $PWD $V"
check("keeps directory and variables", v and v.out == "/tmp kept\n", v)
local r, e = sh:run "echo last; exit 3"
check("exit 3", r and r.code == 3 and r.shell_ended and r.out:find "last", r, e)
r, e = sh:run "true"
check("then it has ended, and says how", not r and tostring(e):find "status 3", r, e)
sh = assert(box:shell())
r, e = sh:run "set -e; false; echo not"
check("set -e ends it", r and r.code == 1 and r.shell_ended and not r.out:find "not", r, e)
sh = assert(box:shell())
r, e = sh:run "kill -9 $$"
check("killed", r and r.signal == "SIGKILL", r, e)
L
timeout 300 "$SANDGLASS" run --no-tui --no-input --policy any.lua s.lua </dev/null >log 2>&1
sed -n 's/.* note: //p' log >"$t/out"
while read -r how what; do
	[ "$how" = GOOD ]
	ok $? "$what"
done <"$t/out"
is "$(grep -c . "$t/out")" 42 "all of it was tried"
finish
