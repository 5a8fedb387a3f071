-- The git calls of Daytona's toolbox: each is a git command in the box, so the policy judges it as it stands. A password is not
-- taken: credentials do not enter a box.
local s = require "sandglass.serve"

local function asked(q)
  local a = s.json(q)
  if a.password or a.username then
    s.fail(400, "sandglass passes no passwords to a sandbox: clone from a server that needs none, or upload the repository", "NOT_SERVED")
  end
  return a
end

-- A word that is asked for; one that git would take for an option is none.
local function word(a, name)
  local v = a[name]
  if type(v) ~= "string" or v == "" then s.fail(400, name .. " is required", "BAD_REQUEST") end
  if v:sub(1, 1) == "-" then s.fail(400, ("%s must not begin with '-': '%s'"):format(name, s.clean(v)), "BAD_REQUEST") end
  return v
end

local function check(good, what)
  if not good then s.fail(400, what, "BAD_REQUEST") end
end

local function run(b, argv)
  local c = s.run(b, { argv = argv })
  if c.code ~= 0 then s.fail(400, s.clean((s.printed(c):gsub("%s+$", ""))), "GIT_OPERATION_FAILED") end
  return s.printed(c, "out")
end

local function git(b, a, ...) return run(b, { "git", "-C", word(a, "path"), ... }) end

local function clone(q, b)
  local a = asked(q)
  local argv = { "git", "clone", "-q" }
  if a.branch then
    argv[#argv + 1] = "--branch"
    argv[#argv + 1] = word(a, "branch")
  end
  local depth = type(a.depth or 0) == "number" and math.tointeger(a.depth or 0)
  check(depth and depth >= 0, "depth is to be a whole number")
  if depth > 0 then argv[#argv + 1] = ("--depth=%d"):format(depth) end
  for _, w in ipairs { "--", word(a, "url"), word(a, "path") } do argv[#argv + 1] = w end
  run(b, argv)
  if a.commit_id then git(b, a, "checkout", "-q", word(a, "commit_id")) end
  return 200, {}
end

local STATE = {
  ["."] = "Unmodified", M = "Modified", T = "Modified", A = "Added", D = "Deleted", R = "Renamed", C = "Copied", U = "Updated but unmerged",
  ["?"] = "Untracked",
}

-- Format 2 of git status: a line of fields for each file, a rename followed by the name it had.
local function status(q, b)
  local out = git(b, q.query, "status", "--porcelain=v2", "--branch", "--untracked-files=all", "-z")
  local r = { currentBranch = "", fileStatus = s.list(), branchPublished = false, ahead = 0, behind = 0, detached = false }
  local renamed
  for line in out:gmatch "([^\0]+)\0" do
    local kind, rest = line:sub(1, 1), line:sub(3)
    if renamed then
      renamed.extra, renamed = line, nil
    elseif kind == "#" then
      local name, value = rest:match "^branch%.(%S+) (.*)$"
      if name == "head" then r.currentBranch, r.detached = value == "(detached)" and "" or value, value == "(detached)" end
      if name == "upstream" then r.upstream, r.branchPublished = value, true end
      if name == "ab" then
        local ahead, behind = value:match "^%+(%d+) %-(%d+)$"
        r.ahead, r.behind = math.tointeger(ahead), math.tointeger(behind)
      end
    else
      local fields = ({ ["1"] = 7, ["2"] = 8, u = 9 })[kind] or 0
      local xy, name = kind == "?" and "??" or rest:sub(1, 2), rest:gsub("^" .. ("%S+ "):rep(fields), "", 1)
      local f = { name = name, staging = STATE[xy:sub(1, 1)] or "Modified", worktree = STATE[xy:sub(2, 2)] or "Modified", extra = "" }
      r.fileStatus[#r.fileStatus + 1] = f
      if kind == "2" then renamed = f end
    end
  end
  return 200, r
end

local function add(q, b)
  local a = asked(q)
  check(type(a.files) == "table" and #a.files > 0, "files is required")
  for _, f in ipairs(a.files) do check(type(f) == "string", "files is to be a list of paths") end
  git(b, a, "add", "--", table.unpack(a.files))
  return 200, {}
end

local function commit(q, b)
  local a = asked(q)
  check(type(a.message or "") == "string", "message is to be a text")
  local who = { "-c", "user.name=" .. word(a, "author"), "-c", "user.email=" .. word(a, "email") }
  local argv = { "git", "-C", word(a, "path"), who[1], who[2], who[3], who[4], "commit", "-q", "-m", a.message or "" }
  if a.allow_empty then argv[#argv + 1] = "--allow-empty" end
  run(b, argv)
  return 200, { hash = git(b, a, "rev-parse", "HEAD"):match "%x+" }
end

local function history(q, b)
  local list = s.list()
  for line in git(b, q.query, "log", "-z", "--format=%H%x09%ae%x09%aI%x09%an%x09%B"):gmatch "([^\0]+)" do
    local hash, email, time, author, message = line:match "^(%x+)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$"
    list[#list + 1] = { hash = hash, author = author, email = email, timestamp = time, message = message and message:gsub("%s+$", "") }
  end
  return 200, list
end

local function branches(q, b)
  local list = s.list()
  for name in git(b, q.query, "for-each-ref", "--format=%(refname:short)", "refs/heads"):gmatch "[^\n]+" do list[#list + 1] = name end
  return 200, { branches = list, current = git(b, q.query, "branch", "--show-current"):match "[^\n]+" }
end

local function init(q, b)
  local a = asked(q)
  local argv = { "git", "init", "-q" }
  if a.bare then argv[#argv + 1] = "--bare" end
  if a.initial_branch then argv[#argv + 1] = "--initial-branch=" .. word(a, "initial_branch") end
  for _, w in ipairs { "--", word(a, "path") } do argv[#argv + 1] = w end
  run(b, argv)
  return 201, {}
end

-- Paths of the request behind the words.
local function with_files(argv, files)
  check(type(files or {}) == "table", "files is to be a list of paths")
  if files and #files > 0 then argv[#argv + 1] = "--" end
  for _, f in ipairs(files or {}) do
    check(type(f) == "string", "files is to be a list of paths")
    argv[#argv + 1] = f
  end
  return argv
end

local MODES = { soft = true, mixed = true, hard = true, merge = true, keep = true }

local function reset(q, b)
  local a = asked(q)
  check(a.mode == nil or MODES[a.mode], "mode is soft, mixed, hard, merge or keep")
  local argv = { "reset", "-q" }
  if a.mode then argv[#argv + 1] = "--" .. a.mode end
  argv[#argv + 1] = a.target and word(a, "target")
  git(b, a, table.unpack(with_files(argv, a.files)))
  return 200, {}
end

local function restore(q, b)
  local a = asked(q)
  check(type(a.files) == "table" and #a.files > 0, "files is required")
  local argv = { "restore" }
  if a.staged then argv[#argv + 1] = "--staged" end
  if a.worktree then argv[#argv + 1] = "--worktree" end
  if a.source then argv[#argv + 1] = "--source=" .. word(a, "source") end
  git(b, a, table.unpack(with_files(argv, a.files)))
  return 200, {}
end

local function remotes(q, b)
  local list = s.list()
  for name in git(b, q.query, "remote"):gmatch "[^\n]+" do
    list[#list + 1] = { name = name, url = git(b, q.query, "remote", "get-url", "--", name):match "[^\n]*" }
  end
  return 200, { remotes = list }
end

local function remote_add(q, b)
  local a = asked(q)
  local name, url = word(a, "name"), word(a, "url")
  if a.overwrite then s.run(b, { argv = { "git", "-C", word(a, "path"), "remote", "remove", name } }) end
  git(b, a, "remote", "add", "--", name, url)
  if a.fetch then git(b, a, "fetch", "-q", "--", name) end
  return 201, {}
end

-- A configuration is that of the box's own user, or with a scope the repository's or the machine's.
local SCOPES = { ["local"] = "--local", global = "--global", system = "--system" }

local function config_words(a)
  local scope = a.scope or "global"
  check(SCOPES[scope], "scope is global, local or system")
  local argv = { "git" }
  if scope == "local" then
    argv[2], argv[3] = "-C", word(a, "path")
  end
  argv[#argv + 1], argv[#argv + 2] = "config", SCOPES[scope]
  return argv
end

local function config_set(q, b)
  local a = asked(q)
  local argv = config_words(a)
  check(type(a.value) == "string", "value is required")
  argv[#argv + 1], argv[#argv + 2] = word(a, "key"), a.value
  run(b, argv)
  return 200, {}
end

local function config_get(q, b)
  local argv = config_words(q.query)
  argv[#argv + 1], argv[#argv + 2] = "--get", word(q.query, "key")
  local c = s.run(b, { argv = argv })
  if c.code > 1 then s.fail(400, s.clean((s.printed(c):gsub("%s+$", ""))), "GIT_OPERATION_FAILED") end
  return 200, { value = c.code == 0 and s.printed(c, "out"):gsub("\n$", "") or nil }
end

local function config_user(q, b)
  local a = asked(q)
  for _, pair in ipairs { { "user.name", "name" }, { "user.email", "email" } } do
    local argv = config_words(a)
    argv[#argv + 1], argv[#argv + 2] = pair[1], word(a, pair[2])
    run(b, argv)
  end
  return 200, {}
end

-- git's own words, with fields of the request after them.
local function simply(code, words, ...)
  local names = { ... }
  return function(q, b)
    local a, argv = asked(q), { table.unpack(words) }
    for _, n in ipairs(names) do argv[#argv + 1] = word(a, n) end
    git(b, a, table.unpack(argv))
    return code, code ~= 204 and {} or nil
  end
end

local at = "/toolbox/{box}/git/"
return {
  { "POST", at .. "clone", clone },
  { "POST", at .. "init", init },
  { "POST", at .. "reset", reset },
  { "POST", at .. "restore", restore },
  { "GET", at .. "remotes", remotes },
  { "POST", at .. "remotes", remote_add },
  { "POST", at .. "config", config_set },
  { "GET", at .. "config", config_get },
  { "POST", at .. "config/user", config_user },
  { "GET", at .. "status", status },
  { "POST", at .. "add", add },
  { "POST", at .. "commit", commit },
  { "GET", at .. "history", history },
  { "GET", at .. "branches", branches },
  { "POST", at .. "branches", simply(201, { "branch" }, "name") },
  { "DELETE", at .. "branches", simply(204, { "branch", "-D" }, "name") },
  { "POST", at .. "checkout", simply(200, { "checkout", "-q" }, "branch") },
  { "POST", at .. "pull", simply(200, { "pull", "-q" }) },
  { "POST", at .. "push", simply(200, { "push", "-q" }) },
}
