-- Options tables, units, and handles: every mistake raises at the script's line and names what was probably meant.
local rt = require "sandglass.runtime"
local core, fail = rt.core, rt.fail
local type, pairs, ipairs, math, tostring, tonumber, rawget = type, pairs, ipairs, math, tostring, tonumber, rawget
local setmetatable = setmetatable

local M = {}

-- Number of single-letter changes (also swaps) that lead from a to b.
local function distance(a, b)
  local before, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local older = before
    before, row = row, { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + same)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], older[j - 2] + 1)
      end
    end
  end
  return row[#b]
end

-- The name of the list or of the keys of `names` that is nearest to `word`, if one is near.
function M.nearest(word, names)
  local best, least = nil, math.max(1, #word // 3) + 1
  for k, v in pairs(names) do
    local name = type(k) == "number" and v or k
    if type(name) == "string" then
      local a, b = word:lower(), name:lower()
      local d = #b >= 3 and #a >= 3 and (a:sub(1, #b) == b or b:sub(1, #a) == a) and 1 or distance(a, b)
      if d < least then best, least = name, d end
    end
  end
  return best
end

function M.suggest(word, names)
  local near = M.nearest(tostring(word), names)
  return near and ("; did you mean '%s'?"):format(near) or ""
end

local UNITS = { us = 1, ms = 1000, s = 1000000, m = 60000000, h = 3600000000, d = 86400000000 }
local SIZES = { B = 1, K = 1 << 10, M = 1 << 20, G = 1 << 30, T = 1 << 40 }

-- Seconds, or "500ms" "30s" "5m" "2h" "1d": microseconds, or nil.
function M.time_us(v)
  if type(v) == "number" then return v >= 0 and v < 1e12 and math.floor(v * 1000000 + 0.5) or nil end
  if type(v) ~= "string" then return nil end
  local n, unit = v:match "^(%d+%.?%d*)(%a*)$"
  local scale = UNITS[unit == "" and "s" or unit]
  return n and scale and math.floor(tonumber(n) * scale + 0.5) or nil
end

-- Bytes, or "512M" "1G": bytes, or nil.
function M.bytes(v)
  if type(v) == "number" then return v >= 0 and v < 2 ^ 62 and math.floor(v) or nil end
  if type(v) ~= "string" then return nil end
  local n, unit = v:match "^(%d+%.?%d*)(%a?)[iB]*$"
  local scale = n and SIZES[unit == "" and "B" or unit:upper()]
  return n and scale and math.floor(tonumber(n) * scale) or nil
end

local function has_type(v, wanted)
  if wanted == "any" then return true end
  if wanted == "time" then return M.time_us(v) ~= nil end
  if wanted == "size" then return M.bytes(v) ~= nil end
  if wanted == "integer" then return math.type(v) == "integer" end
  if wanted == "list" then return type(v) == "table" and (#v > 0 or rawget(v, 1) == nil) end
  if wanted:sub(1, 3) == "sg." then
    local mt = type(v) == "table" and core.metatable(v)
    return mt and mt.__name == wanted
  end
  return type(v) == wanted
end

local WORDS = { time = "a time (seconds or \"5m\")", size = "a size (bytes or \"1G\")" }

local function matches(v, types)
  for wanted in types:gmatch "[^|]+" do
    if has_type(v, wanted) then return true end
  end
  return false
end

local function type_words(types)
  return (types:gsub("[^|]+", function(w) return WORDS[w] or w end):gsub("|", " or "))
end

local function type_of(v)
  local mt = type(v) == "table" and core.metatable(v)
  return mt and mt.__name or type(v)
end
M.type_of = type_of

-- The value given for @types, for an error: a time or size is quoted, of other values the type is named.
local function given(v, types)
  if types == "time" or types == "size" then
    if type(v) == "string" then return #v <= 40 and ("'%s'"):format(v) or "a long text" end
    if type(v) == "number" then return v == v and tostring(v) or "not a number" end
  end
  return type_of(v)
end

-- The options of a class of the types (lua/meta), which are held against it; returns @spec.
M.specs = {}
function M.spec(class, spec)
  M.specs[class] = spec
  return spec
end

-- Checks an options table: spec[name] = "string", "time|number", "table!" (! = must be there). Returns it ({} for nil).
function M.options(where, o, spec)
  if o == nil then o = {} end
  if type(o) ~= "table" then fail("%s: expected an options table, got %s", where, type_of(o)) end
  for k, v in pairs(o) do
    local types = spec[k]
    if not types then
      if type(k) == "number" then fail("%s: a list element has no name (%s)", where, type_of(v)) end
      fail("%s: unknown option '%s'%s", where, tostring(k), M.suggest(k, spec))
    end
    types = types:gsub("!", "")
    if not matches(v, types) then
      fail("%s: option '%s': expected %s, got %s", where, k, type_words(types), given(v, types))
    end
  end
  for k, types in pairs(spec) do
    if types:find("!", 1, true) and o[k] == nil then fail("%s: option '%s' is missing", where, k) end
  end
  return o
end

-- Checks one argument.
function M.arg(where, name, v, types)
  if types:sub(-1) == "?" then
    if v == nil then return v end
    types = types:sub(1, -2)
  end
  if not matches(v, types) then fail("%s: %s: expected %s, got %s", where, name, type_words(types), given(v, types)) end
  return v
end

function M.us(v) return v ~= nil and M.time_us(v) or nil end

-- {usd= tokens= time= steps= actions=} as it goes over the wire.
local LIMITS = { usd = "number", tokens = "integer", time = "time", steps = "integer", actions = "integer" }
function M.limits(where, o)
  M.options(where, o, LIMITS)
  return {
    uusd = o.usd and math.floor(o.usd * 1000000 + 0.5) or nil, tokens = o.tokens, time_us = M.us(o.time),
    steps = o.steps,
    actions = o.actions,
  }
end

-- A class of handles: methods are found with "did you mean", fields that may be absent are named in `optional`.
M.classes = {}   -- methods by name of the class; the types are held against it
function M.class(name, short, methods, optional)
  M.classes[name] = methods
  local mt = { __name = name, __metatable = false }
  optional = optional or {}
  function mt.__index(_, k)
    local m = methods[k]
    if m ~= nil then return m end
    if optional[k] then return nil end
    fail("%s has no '%s'%s", short, tostring(k), M.suggest(k, methods))
  end
  function mt.__newindex(_, k) fail("%s: can't set '%s'", short, tostring(k)) end
  function mt.__tostring(self) return short .. " " .. tostring(rawget(self, "name") or rawget(self, "id") or "") end
  if methods.close then
    function mt.__close(self) rt.shield(methods.close, self) end
  end
  return mt
end

-- A new handle: numbered, so that it can be a key.
function M.new(mt, fields) return core.handle(setmetatable(fields, mt)) end

-- Checks `self` of a method: catches box.exec("ls").
function M.self(mt, self, short, method)
  if type(self) ~= "table" or core.metatable(self) ~= mt then
    fail("call it with a colon: %s:%s(...)", short, method)
  end
end

return M
