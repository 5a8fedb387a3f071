-- Opens a sandbox over each repository of rows.lua and uses git in it as an agent does. A line for each: name, "works" or what went wrong.
local sg = require "sandglass"
local rows = require "rows"
local start = "set -e; q() { \"$@\" >/dev/null; }; [ -f a.txt ]; "
local change = "echo 'by the agent' >>a.txt; ! git diff --quiet; q git status; "
local stash = "q git stash; git diff --quiet; q git stash pop; ! git diff --quiet; "
local commit = "git add a.txt; git commit -qm inside; "
local switch = "git switch -qc topic-of-agent; [ \"$(git log -1 --format=%s)\" = inside ]; "
local clean = "[ -z \"$(git status --porcelain -uno)\" ]; ! grep -rq hunter2-secret .git /run/sandglass/git 2>/dev/null; "
local inside = {
  whole = start .. "[ -z \"$(git status --porcelain -uno)\" ]; git log --format=%s | grep -q base; git rev-parse HEAD; " .. change .. stash .. commit .. switch .. clean,
  unborn = start .. change:gsub("! git diff .-; ", "") .. commit .. switch,
  rebase = start .. "git status | grep -q rebas; printf 'merged\\nby the agent\\n' >a.txt; git add a.txt; GIT_EDITOR=true git rebase --continue >/dev/null; git log --oneline | grep -q topic; ",
  merging = start .. "git status | grep -q merg; printf 'merged\\nby the agent\\n' >a.txt; git add a.txt; git commit -qm inside; " .. switch .. clean,
  none = start .. "echo 'by the agent' >>a.txt; ! git status 2>/dev/null",
}
inside.patch, inside.kept = inside.whole, "chmod -R u+w .; " .. inside.whole
for i, row in ipairs(rows) do
  local name, how, dir = row[1], row[2], row[3]
  local made, box, err = pcall(sg.sandbox, { repo = dir, name = "b" .. i })
  if not made then box, err = nil, box end
  local said
  if box then
    for _, n in ipairs(box:notices()) do print(("note|%d|%s|%s"):format(i, n.what, n.text)) end
    local r, e = box:exec { "sh", "-xc", inside[how] .. " exit 0" }
    said = r and r.code == 0 and "works|" .. r.out:gsub("%s+", " ") or "fails|" .. tostring(r and r.err or e):gsub("%s+", " ")
    box:close()
  else
    said = "no sandbox|" .. tostring(err)
  end
  print(("row|%d|%s|%s"):format(i, name, said))
end
