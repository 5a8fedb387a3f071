-- A command line as the commands that it runs, and what its exit status says of each: for checks over a record that ask what
-- really ran. "echo make test" runs no test; "make test || true" runs one, but always succeeds. Quotes, comments,
-- here-documents and sh -c are understood; what $(...) and loops do is not looked into. It never fails: words are words.
local M = {}

local JOINS = { ["&&"] = true, ["||"] = true, ["|&"] = true, [";;"] = true }
local ONE = { [";"] = true, ["|"] = true, ["&"] = true, ["("] = true, [")"] = true, ["\n"] = true }
-- Words that lead into another command, and those among them after which nobody knows whether it runs, or how it ended.
local LEADS = { ["if"] = true, ["then"] = true, ["elif"] = true, ["else"] = true, ["while"] = true, ["until"] = true, ["do"] = true,
  ["!"] = true, ["{"] = false, ["fi"] = true, ["done"] = true, ["}"] = false, ["time"] = false }
local SHELLS = { sh = true, bash = true, dash = true, zsh = true, ksh = true }
-- Programs that run what follows them, and which of their options take a word.
local WRAPS = { env = "-u -C -S", timeout = "-s -k", nice = "-n", nohup = "", sudo = "-u -g -C", command = "", exec = "-a", time = "-f -o",
  stdbuf = "-i -o -e", setsid = "", ["xvfb-run"] = "-s -n", unbuffer = "", ionice = "-c -n", npx = "-p", pnpx = "", bunx = "", builtin = "" }
-- Two words that do.
local RUNS = { ["uv run"] = true, ["poetry run"] = true, ["pipenv run"] = true, ["bundle exec"] = true, ["pnpm exec"] = true,
  ["npm exec"] = true, ["yarn exec"] = true, ["hatch run"] = true, ["pdm run"] = true }

-- One word from @i: its text without quotes, and its end.
local function word(s, i)
  local out, from = {}, i
  while i <= #s do
    local c = s:sub(i, i)
    if c == "\\" then
      if s:sub(i + 1, i + 1) ~= "\n" then out[#out + 1] = s:sub(i + 1, i + 1) end
      i = i + 2
    elseif c == "'" then
      local to = s:find("'", i + 1, true) or #s + 1
      out[#out + 1] = s:sub(i + 1, to - 1)
      i = to + 1
    elseif c == '"' then
      i = i + 1
      while i <= #s and s:sub(i, i) ~= '"' do
        if s:sub(i, i) == "\\" and s:find('^[\\"$`\n]', i + 1) then i = i + 1 end
        out[#out + 1] = s:sub(i, i)
        i = i + 1
      end
      i = i + 1
    elseif c == "`" then
      local to = s:find("`", i + 1, true) or #s
      out[#out + 1] = s:sub(i, to)
      i = to + 1
    elseif s:find("^%$?%(", i) and (c == "$" or i > from) then
      local _, to = s:find("^%b()", c == "$" and i + 1 or i)
      to = to or #s
      out[#out + 1] = s:sub(i, to)
      i = to + 1
    elseif c:find "[%s;|&()<>]" then
      break
    else
      out[#out + 1] = c
      i = i + 1
    end
  end
  return table.concat(out), i
end

-- Where the line after a here-document's end begins.
local function after_document(s, i, mark)
  local from = s:find("\n", i, true)
  while from do
    local to = s:find("\n", from + 1, true)
    if s:sub(from + 1, (to or #s + 1) - 1):match "^%s*(.-)%s*$" == mark then return to or #s + 1 end
    from = to
  end
  return #s + 1
end

-- A list of words and separators: { join = "&&" } between commands; { to = NAME } for a file that
-- receives output. Files that are read are left out.
local function tokens(s)
  local out, i, documents = {}, 1, {}
  while i <= #s do
    local c = s:sub(i, i)
    local _, to, fd, op = s:find("^(%d*)([<>]+[&|%-]?)", i)
    if c == "#" and (i == 1 or s:find("^%s", i - 1)) then
      i = s:find("\n", i, true) or #s + 1
    elseif to and (fd == "" or s:find("^[%s;|&(]", i - 1) or i == 1) or s:find("^&>", i) then
      i = (to or i + 1) + 1
      i = s:match("^[ \t]*()", i)
      local name, after = word(s, i)
      if op and op:find "^<<%-?$" then documents[#documents + 1] = name end
      if (not op or op:find ">") and not (op and op:find "&" and name:find "^[%d%-]*$") and #name > 0 then out[#out + 1] = { to = name } end
      i = after
    elseif JOINS[s:sub(i, i + 1)] or ONE[c] then
      local join = JOINS[s:sub(i, i + 1)] and s:sub(i, i + 1) or c
      if c == "\n" then
        for _, mark in ipairs(documents) do i = after_document(s, i, mark) end
        documents = {}
        join = ";"
      end
      out[#out + 1] = { join = join }
      i = i + (c == "\n" and 1 or #join)
    elseif c:find "%s" then
      i = i + 1
    elseif s:find("^\\\n", i) then
      i = i + 2
    else
      local w, after = word(s, i)
      out[#out + 1] = w
      i = after > i and after or i + 1
    end
  end
  return out
end

local function base(w) return w and (w:match "([^/]+)$" or w) or "" end

local function rest(words, from) return table.move(words, from, #words, 1, {}) end

-- The words without what only leads to them: A=b, timeout 60, env, sudo. @words is changed by nobody.
local function bare(words)
  local i = 1
  while words[i] do
    local w = base(words[i])
    if words[i]:find "^[%a_][%w_]*%+?=" then i = i + 1
    elseif RUNS[w .. " " .. (words[i + 1] or "")] then i = i + 2
    elseif WRAPS[w] and words[i + 1] then
      i = i + 1
      while words[i] and words[i]:find "^%-" do
        i = i + ((" " .. WRAPS[w] .. " "):find(" " .. words[i] .. " ", 1, true) and 2 or 1)
      end
      if w == "timeout" then i = i + 1 end
    else break end
  end
  return i == 1 and words or rest(words, i)
end

-- @unsure: whether what stands there runs, and how it ended, is not known whatever the line says.
local function gather(s, parts, unsure, depth)
  local now, sure, join, into, grouped = {}, not unsure, nil, {}, false
  local function close(nextjoin)
    if #now == 0 and #into > 0 then   -- "{ ...; } >f" is what the last of them put out; ">f" alone is a command that does nothing else
      if grouped and parts[#parts] then table.move(into, 1, #into, #parts[#parts].into + 1, parts[#parts].into) else now = { ":" } end
    end
    if #now > 0 then parts[#parts + 1] = { words = now, before = join, after = nextjoin, unsure = not sure, into = into } end
    if #now > 0 or nextjoin ~= ";" then join = nextjoin end
    now, sure, into, grouped = {}, not unsure, {}, nextjoin == ")"
  end
  local leading = false
  for _, t in ipairs(tokens(s)) do
    if type(t) == "table" and t.to then
      into[#into + 1] = t.to
    elseif type(t) == "table" then
      close(t.join)
      leading = false
    elseif #now == 0 and LEADS[t] ~= nil then
      leading = leading or LEADS[t]
      grouped = t == "}" or t == "done" or t == "fi"
      sure = not unsure and not leading
    else
      now[#now + 1] = t
    end
  end
  close(nil)
  for _, p in ipairs(parts) do
    p.words = bare(p.words)
    local w = p.words
    if depth < 4 and SHELLS[base(w[1])] and (w[2] or ""):find "^%-%a*c$" then p.inner = w[4] and rest(w, 3) or w[3] end
  end
end

local function options(words)
  local e, pipefail
  for i, w in ipairs(words) do
    if i > 1 and w:find "^%-%a*e" then e = true end
    if w == "pipefail" then pipefail = true end
  end
  return e, pipefail
end

-- Does a line that ends with 0 say that parts[k] ran and ended with 0?
local function decides(parts, k)
  local p, e, pipefail = parts[k], false, false
  for i = 1, k - 1 do
    if parts[i].words[1] == "set" then
      local a, b = options(parts[i].words)
      e, pipefail = e or a, pipefail or b
    end
  end
  if p.unsure or p.before == "||" then return false end
  for i = k, #parts - 1 do
    local j = parts[i].after
    if j == "||" or j == "&" or ((j == "|" or j == "|&") and not pipefail) then return false end
    if (j == ";" or j == "(" or j == ")") and not e then return false end
  end
  return p.after ~= "&"
end

-- The commands of the line @s: a list of { words, decides, last, piped, into }. decides: that the line ended with 0 says that this
-- one ran and ended with 0; last: nothing of the line came after it; piped: it reads what the one before it prints; into: the
-- files that its output goes into.
function M.of(s, depth)
  local parts, out = {}, {}
  depth = depth or 0
  gather(s, parts, false, depth)
  for k, p in ipairs(parts) do
    local sure, last, piped = decides(parts, k), k == #parts, p.before == "|" or p.before == "|&"
    if type(p.inner) == "string" then
      for _, q in ipairs(M.of(p.inner, depth + 1)) do
        out[#out + 1] = { words = q.words, decides = sure and q.decides, last = last and q.last, piped = piped or q.piped, into = q.into }
      end
    else
      out[#out + 1] = { words = type(p.inner) == "table" and bare(p.inner) or p.words, decides = sure, last = last, piped = piped, into = p.into }
    end
  end
  return out
end

-- Kinds of commands ------------------------------------------------------------------------------------------------

local function has(words, pattern, from)
  for i = from or 2, #words do if words[i]:find(pattern) then return true end end
  return false
end

local ALONE = { pytest = true, ["py.test"] = true, jest = true, vitest = true, mocha = true, tox = true, nox = true, rspec = true,
  ctest = true, prove = true, bats = true, phpunit = true, unittest = true }
local MAKES = { make = true, gmake = true, ninja = true, meson = true, just = true, rake = true, mvn = true, mvnw = true, gradle = true,
  gradlew = true, bazel = true, cargo = true, go = true, npm = true, yarn = true, pnpm = true, bun = true, deno = true, dotnet = true,
  mix = true, swift = true, zig = true, sbt = true, stack = true, cabal = true, dune = true }
local RUNNERS = { node = true, python = true, python3 = true, ruby = true, perl = true, php = true, lua = true, sh = true, bash = true, deno = true }

local function pretends(words)
  return has(words, "^%-%-dry%-run$") or has(words, "^%-%-just%-print$") or has(words, "^%-%-collect%-only$")
    or (base(words[1]):find "make$" and has(words, "^%-%a*n%a*$")) or has(words, "^%-%-version$") or has(words, "^%-%-help$")
end

-- Is a file of this name one that tests?
local function named(name) return name:lower():find "%f[%a]r?u?n?tests?%f[%A]" ~= nil end

-- Does it run tests?
function M.tests(words)
  local name = base(words[1]):gsub("^(python3)%.%d+$", "%1")
  if pretends(words) then return false end
  if ALONE[name] then return true end
  if MAKES[name] then
    return has(words, "^:?tests?$") or has(words, "^test[-_:.]") or has(words, "[-_:.]tests?$") or has(words, "^check$") or has(words, "^nextest$")
      or (name:find "mvn" ~= nil and has(words, "^verify$"))
  end
  if RUNNERS[name] then
    if words[2] == "-m" then return words[3] == "pytest" or words[3] == "unittest" or words[3] == "tox" or words[3] == "nose2" end
    if has(words, "^%-%-test$") then return true end
    for i = 2, #words do
      if words[i]:sub(1, 1) ~= "-" then
        return named(base(words[i])) or (words[i + 1] == "test" and base(words[i]):find "^[ms]%a+%.py$" ~= nil)
      end
    end
    return false
  end
  return (words[1] or ""):find "/" ~= nil and named(name)
end

local BUILDERS = { make = true, gmake = true, cmake = true, ninja = true, meson = true, gcc = true, cc = true, clang = true, ["g++"] = true,
  ["clang++"] = true, ["c++"] = true, mvn = true, gradle = true, gradlew = true, tsc = true, bazel = true, javac = true, rustc = true }
local BUILDING = { cargo = "^build$ ^check$", go = "^build$ ^vet$", npm = "build", yarn = "build", pnpm = "build", dotnet = "^build$", zig = "^build" }

function M.builds(words)
  local name = base(words[1])
  if pretends(words) then return false end
  if BUILDERS[name] or name:find "%-gcc$" then return true end
  for p in (BUILDING[name] or ""):gmatch "%S+" do if has(words, p) then return true end end
  return false
end

-- Is it git's @verb, done and not only tried on?
function M.git(verb)
  return function(words)
    if base(words[1]) ~= "git" or pretends(words) then return false end
    local i = 2
    while words[i] and words[i]:find "^%-" do i = i + ((words[i] == "-C" or words[i] == "-c") and 2 or 1) end
    return words[i] == verb and not (verb == "push" and has(words, "^%-n$"))
  end
end

local WRITERS = { dd = true, tee = true, cp = true, mv = true, rm = true, install = true, ln = true, truncate = true, unlink = true }
local IN_PLACE = { sed = true, gsed = true, perl = true, ruby = true }
-- Those that change files which they do not name.
local TREES = { apply = true, am = true, checkout = true, restore = true, reset = true, stash = true, revert = true, merge = true,
  ["cherry-pick"] = true, pull = true, switch = true }

-- Does the command @part of a line change the file @path, as far as its words say?
function M.changes(part, path)
  local words = part.words
  local name = base(words[1])
  local function is(w)
    w = w:gsub("^/workspace/", ""):gsub("^%./", ""):gsub("/+$", "")
    return w ~= "" and (path == w or path:sub(1, #w + 1) == w .. "/" or path:sub(-#w - 1) == "/" .. w)
  end
  for _, w in ipairs(part.into or {}) do if is(w) then return true end end
  if name == "patch" then return true end
  if name == "git" and words[2] then
    for verb in pairs(TREES) do if M.git(verb)(words) then return true end end
  end
  if not WRITERS[name] and not (IN_PLACE[name] and (has(words, "^%-%a*i") or has(words, "^%-%-in%-place"))) then return false end
  for i = 2, #words do if is(name == "dd" and words[i]:match "^of=(.*)" or words[i]) then return true end end
  return false
end

-- A test: does a command begin with the words of @s (each of its commands counts as one)?
function M.begins(s)
  local wanted = M.of(s)
  return function(words)
    for _, p in ipairs(wanted) do
      local same = #p.words > 0 and #words >= #p.words
      for i, w in ipairs(p.words) do
        if w ~= words[i] and not (i == 1 and base(w) == base(words[i])) then same = false end
      end
      if same then return true end
    end
    return false
  end
end

return M
