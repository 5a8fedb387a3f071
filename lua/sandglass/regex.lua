-- Regular expressions for the keyword `pattern` of JSON Schema: the part of ECMA 262 that a machine without a memory can
-- follow, so that time grows with the text only. Characters are code points.
--   literals  .  [a-z] [^a-z]  \d \D \w \W \s \S \b \B  \t \n \r \f \v \0 \xHH \uHHHH \u{H..} \/ and other signs
--   ( ) (?: )  |  * + ? {n} {n,} {n,m} (and lazy ones: the same, only whether it matches counts)  ^ $
-- Not: back references, look-ahead and look-behind, \p{...}, named groups. These are errors when the pattern is compiled.
local M = {}

local STATES, REPEAT, LONGEST = 4000, 500, 1000

local WORD = { { 48, 57 }, { 65, 90 }, { 95, 95 }, { 97, 122 } }
local DIGIT = { { 48, 57 } }
local SPACE = { { 9, 13 }, { 32, 32 }, { 0xA0, 0xA0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200A }, { 0x2028, 0x2029 },
  { 0x202F, 0x202F }, { 0x205F, 0x205F }, { 0x3000, 0x3000 }, { 0xFEFF, 0xFEFF } }
local LINE_END = { { 10, 10 }, { 13, 13 }, { 0x2028, 0x2029 } }
local SETS = { d = DIGIT, w = WORD, s = SPACE }
local CONTROLS = { t = 9, n = 10, v = 11, f = 12, r = 13, ["0"] = 0 }

local function has(set, cp)
  local found = false
  for _, r in ipairs(set) do
    if r.set then
      if has(r.set, cp) ~= (r.out or false) then found = true end
    elseif cp >= r[1] and cp <= r[2] then
      found = true
    end
    if found then break end
  end
  return found ~= (set.out or false)
end

-- Parsing: a tree of { "char"|"set"|"cat"|"alt"|"rep"|"start"|"end"|"edge", ... } ----------------------------------

local function wrong(p, fmt, ...)
  error({ regex = (#{ ... } > 0 and fmt:format(...) or fmt) .. (" at character %d"):format(p.i) }, 0)
end

local function peek(p) return p.c[p.i] and utf8.char(p.c[p.i]) end

local function hex(p, n)
  local v = 0
  for _ = 1, n do
    local d = peek(p) and tonumber(peek(p), 16)
    if not d then wrong(p, "a hexadecimal digit is missing") end
    v, p.i = v * 16 + d, p.i + 1
  end
  return v
end

-- Behind a backslash: a code point, or a set.
local function escape(p)
  local ch = peek(p)
  if not ch then wrong(p, "nothing follows the backslash") end
  p.i = p.i + 1
  local set = SETS[ch:lower()]
  if set then return nil, { set = set, out = ch ~= ch:lower() } end
  if ch == "0" or CONTROLS[ch] then return CONTROLS[ch] end
  if ch == "x" then return hex(p, 2) end
  if ch == "u" then
    if peek(p) ~= "{" then return hex(p, 4) end
    local v = 0
    p.i = p.i + 1
    while peek(p) and peek(p) ~= "}" do v = v * 16 + hex(p, 1) end
    if not peek(p) or v > 0x10FFFF then wrong(p, "\\u{...} is not a character") end
    p.i = p.i + 1
    return v
  end
  if ch:find "%d" or ch == "k" then wrong(p, "back references are not known here") end
  if ch == "p" or ch == "P" then wrong(p, "\\%s{...} is not known here", ch) end
  if ch:find "^%a$" then wrong(p, "'\\%s' is not known here", ch) end
  return utf8.codepoint(ch)
end

local function class(p)
  local set = { out = peek(p) == "^" }
  if set.out then p.i = p.i + 1 end
  local function one()
    local ch = peek(p)
    if not ch then wrong(p, "']' is missing") end
    p.i = p.i + 1
    if ch ~= "\\" then return utf8.codepoint(ch) end
    if peek(p) == "b" then
      p.i = p.i + 1
      return 8
    end
    return escape(p)
  end
  while peek(p) ~= "]" do
    local from, inner = one()
    if inner then
      set[#set + 1] = inner
    elseif peek(p) == "-" and p.c[p.i + 1] and utf8.char(p.c[p.i + 1]) ~= "]" then
      p.i = p.i + 1
      local to = one()
      if not to or to < from then wrong(p, "a range ends before it begins") end
      set[#set + 1] = { from, to }
    else
      set[#set + 1] = { from, from }
    end
  end
  p.i = p.i + 1
  return { "set", set }
end

local alternatives

local function group(p)
  if peek(p) == "?" then
    p.i = p.i + 1
    if peek(p) ~= ":" then wrong(p, "look-around and named groups are not known here") end
    p.i = p.i + 1
  end
  local inner = alternatives(p)
  if peek(p) ~= ")" then wrong(p, "')' is missing") end
  p.i = p.i + 1
  return inner
end

local function atom(p)
  local ch = peek(p)
  p.i = p.i + 1
  if ch == "(" then return group(p) end
  if ch == "[" then return class(p) end
  if ch == "." then return { "set", { out = true, { set = LINE_END } } } end
  if ch == "^" then return { "start" } end
  if ch == "$" then return { "end" } end
  if ch == "*" or ch == "+" or ch == "?" then
    p.i = p.i - 1
    wrong(p, "nothing before '%s'", ch)
  end
  if ch ~= "\\" then return { "char", utf8.codepoint(ch) } end
  if peek(p) == "b" or peek(p) == "B" then
    p.i = p.i + 1
    return { "edge", utf8.char(p.c[p.i - 1]) == "b" }
  end
  local cp, inner = escape(p)
  if inner then return { "set", { inner } } end
  return { "char", cp }
end

local function number(p)
  local v
  while peek(p) and peek(p):find "^%d$" do
    v = math.min((v or 0) * 10 + tonumber(peek(p)), REPEAT + 1)
    p.i = p.i + 1
  end
  return v
end

-- {n}, {n,}, {n,m}; any other brace is literal.
local function counted(p)
  local begun = p.i
  p.i = p.i + 1
  local low = number(p)
  local high = low
  if low and peek(p) == "," then
    p.i = p.i + 1
    high = number(p)
  end
  if not low or peek(p) ~= "}" then
    p.i = begun
    return
  end
  p.i = p.i + 1
  if low > REPEAT or (high or 0) > REPEAT then wrong(p, "at most %d repetitions", REPEAT) end
  if high and high < low then wrong(p, "{n,m} with m less than n") end
  return low, high or false
end

local REPEATS = { ["*"] = { 0, false }, ["+"] = { 1, false }, ["?"] = { 0, 1 } }

local function piece(p)
  local a = atom(p)
  while true do
    local ch, low, high = peek(p), nil, nil
    if REPEATS[ch or ""] then
      low, high = REPEATS[ch][1], REPEATS[ch][2]
      p.i = p.i + 1
    elseif ch == "{" then
      low, high = counted(p)
    end
    if not low then return a end
    if peek(p) == "?" then p.i = p.i + 1 end
    a = { "rep", a, low, high }
  end
end

function alternatives(p)
  p.depth = p.depth + 1
  if p.depth > 100 then wrong(p, "groups are nested too deeply") end
  local alt, cat = { "alt" }, { "cat" }
  while peek(p) and peek(p) ~= ")" do
    if peek(p) == "|" then
      alt[#alt + 1], cat = cat, { "cat" }
      p.i = p.i + 1
    else
      cat[#cat + 1] = piece(p)
    end
  end
  alt[#alt + 1] = cat
  p.depth = p.depth - 1
  return #alt == 2 and cat or alt
end

-- The machine: states { eat = function|code point, to } or { split, to, also } or { test, to } -----------------------

local function state(m, s)
  m[#m + 1] = s
  if #m > STATES then error({ regex = "it is too large" }, 0) end
  return #m
end

local build

local function repeated(m, node, to)
  local _, inner, low, high = table.unpack(node)
  if not high then
    local loop = state(m, { split = true })
    m[loop].to, m[loop].also = build(m, inner, loop), to
    to = loop
  else
    for _ = low + 1, high do to = state(m, { split = true, to = build(m, inner, to), also = to }) end
  end
  for _ = 1, low do to = build(m, inner, to) end
  return to
end

function build(m, node, to)
  local kind = node[1]
  if kind == "cat" then
    for i = #node, 2, -1 do to = build(m, node[i], to) end
    return to
  elseif kind == "alt" then
    local at = build(m, node[2], to)
    for i = 3, #node do at = state(m, { split = true, to = at, also = build(m, node[i], to) }) end
    return at
  elseif kind == "rep" then
    return repeated(m, node, to)
  elseif kind == "char" or kind == "set" then
    return state(m, { [kind] = node[2], to = to })
  end
  return state(m, { test = kind, want = node[2], to = to })
end

-- Compiles a pattern; returns nil and the fault if it is invalid.
function M.compile(pattern)
  if #pattern > LONGEST then return nil, ("a pattern has at most %d bytes"):format(LONGEST) end
  if not utf8.len(pattern) then return nil, "it is not UTF-8 text" end
  local p = { c = {}, i = 1, depth = 0 }
  for _, cp in utf8.codes(pattern) do p.c[#p.c + 1] = cp end
  local ok, m = pcall(function()
    local tree = alternatives(p)
    if peek(p) then wrong(p, "')' without '('") end
    local machine = { { done = true } }
    machine.first = build(machine, tree, 1)
    return machine
  end)
  if not ok then
    if type(m) == "table" and m.regex then return nil, m.regex end
    error(m, 0)
  end
  return m
end

local function is_word(cp) return cp ~= nil and has(WORD, cp) end

local function holds(s, before, after)
  if s.test == "start" then return before == nil end
  if s.test == "end" then return after == nil end
  return (is_word(before) ~= is_word(after)) == s.want
end

-- Adds a state and all that it leads to without a character.
local function add(m, list, seen, first, before, after)
  local stack = { first }
  while #stack > 0 do
    local at = table.remove(stack)
    if not seen[at] then
      seen[at] = true
      local s = m[at]
      if s.done then return true end
      if s.split then
        stack[#stack + 1], stack[#stack + 2] = s.also, s.to
      elseif s.test then
        if holds(s, before, after) then stack[#stack + 1] = s.to end
      else
        list[#list + 1] = s
      end
    end
  end
end

-- Does it occur anywhere in the text?
function M.find(m, text)
  local cps, n = {}, 0
  for _, cp in utf8.codes(text) do
    n = n + 1
    cps[n] = cp
  end
  local now = {}
  for i = 1, n + 1 do
    local before, cp = cps[i - 1], cps[i]
    local list, seen = {}, {}
    for _, at in ipairs(now) do if add(m, list, seen, at, before, cp) then return true end end
    if add(m, list, seen, m.first, before, cp) then return true end
    now = {}
    for _, s in ipairs(list) do
      if cp and (s.char == cp or s.set and has(s.set, cp)) then now[#now + 1] = s.to end
    end
  end
  return false
end

return M
