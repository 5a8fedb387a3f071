-- What a script does with a box, whatever it is: files, diff, rollback, fork, a process that goes on.
local sg = require "sandglass"
local a = sg.args { "how", wait = "no" }
local how = sg.json.decode(a.how)
how.name, how.repo = "c", "repo"
local box <close> = sg.sandbox(how)
print("profile " .. box.profile .. " at " .. box.workspace)
print("where " .. box:exec("pwd; cat a.txt; echo two >b.txt; printf '\\0\\1' >'odd one'").out)
print("diff " .. box:diff():stat())
local first = box:snapshot()
box:exec "rm a.txt; mkdir -p d/e; echo 3 >d/e/c; ln -s c d/e/l; chmod 0500 d; mkfifo p"
print("second " .. box:diff():stat())
box:rollback(first)
print("after " .. box:exec("find . -path ./.git -prune -o -print | sort | tr '\\n' ' '").out)
local other <close> = box:fork()
print("fork " .. other:exec("echo a* b* d* && cat a.txt b.txt").out)
print("files " .. box:read "a.txt" .. tostring(box:write("n/e/w", "new")) .. box:exec("cat n/e/w").out)
box:spawn "while :; do date +%N >now; sleep 0.02; done"
for i = 1, 3 do box:exec("echo " .. i .. " >count") end
print("count " .. box:exec("cat count").out)
print("exit " .. box:exec("exit 7").code)
