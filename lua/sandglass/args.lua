-- sg.args: the words after `--` on the command line.
--   sg.args { repo = ".", fast = false, n = 3, "task", "files..." }   named with defaults, then positionals
-- A positional may end in "?" (may be missing) or "..." (the rest, a list). --model is always known. Called or not,
-- words of the form --name value are also sg.args.name.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"
local fail = rt.fail

local USAGE = 2

local function usage(spec, positional)
  local words = { "usage: sandglass run " .. (rt.script or "script.lua") .. " --" }
  for k, v in pairs(spec) do
    if type(k) == "string" then
      words[#words + 1] = type(v) == "boolean" and ("[--%s]"):format(k) or ("[--%s %s]"):format(k, k:upper())
    end
  end
  for _, p in ipairs(positional) do
    words[#words + 1] = p.rest and ("[%s...]"):format(p.name) or p.optional and ("[%s]"):format(p.name) or p.name
  end
  return table.concat(words, " ")
end

local function wrong(spec, positional, fmt, ...)
  rt.exit(USAGE, fmt:format(...) .. "; " .. usage(spec, positional))
end

local function positionals(spec)
  local list = {}
  for _, word in ipairs(spec) do
    check.arg("args", "a positional", word, "string")
    local name, rest, optional = word:match "^([%w_]+)(%.?%.?%.?)(%??)$"
    if not name then fail("args: '%s' is not a name (a positional may end in \"?\" or \"...\")", word) end
    list[#list + 1] = { name = name, rest = rest == "...", optional = optional == "?" }
  end
  return list
end

-- The text as the type of the default.
local function convert(spec, pos, name, text, default)
  if type(default) ~= "number" then return text end
  local n = math.tointeger(tonumber(text)) or tonumber(text)
  if not n then wrong(spec, pos, "--%s: '%s' is not a number", name, text) end
  return n
end

local function parse(spec)
  local pos, out, at, i, argv = positionals(spec), {}, 1, 1, rt.argv
  local known = { model = true }
  for k, v in pairs(spec) do
    if type(k) == "string" then
      known[k] = true
      out[k] = v
    end
  end
  local plain = false
  while i <= #argv do
    local word = argv[i]
    local name, value = word:match "^%-%-([%w_-]+)=?(.*)$"
    if plain or not name or word == "--" then
      if word == "--" and not plain then
        plain = true
      else
        local p = pos[at]
        if not p then wrong(spec, pos, "one argument too many: '%s'", word) end
        if p.rest then
          out[p.name] = out[p.name] or {}
          table.insert(out[p.name], word)
        else
          out[p.name] = word
          at = at + 1
        end
      end
    else
      name = name:gsub("-", "_")
      local off = name:match "^no_(.+)$"
      if not known[name] and off and type(spec[off]) == "boolean" then
        out[off] = false
      elseif not known[name] then
        wrong(spec, pos, "unknown option '--%s'%s", name, check.suggest(name, known))
      elseif type(spec[name]) == "boolean" then
        out[name] = true
      else
        if not word:find("=", 1, true) then
          i = i + 1
          value = argv[i]
          if value == nil then wrong(spec, pos, "--%s: the value is missing", name) end
        end
        out[name] = convert(spec, pos, name, value, spec[name])
      end
    end
    i = i + 1
  end
  for _, p in ipairs(pos) do
    if out[p.name] == nil and p.rest then out[p.name] = {} end
    if out[p.name] == nil and not p.optional then wrong(spec, pos, "'%s' is missing", p.name) end
  end
  if out.model == nil then out.model = rt.env.model end
  return out
end

-- Without a spec: what looks like --name value, and the rest in order.
local function loose()
  local out, i, argv = {}, 1, rt.argv
  while i <= #argv do
    local name, eq, value = argv[i]:match "^%-%-([%w_-]+)(=?)(.*)$"
    if name then
      if eq == "" and argv[i + 1] and argv[i + 1]:sub(1, 2) ~= "--" then
        i = i + 1
        value = argv[i]
      elseif eq == "" then
        value = true
      end
      out[name:gsub("-", "_")] = value
    else
      out[#out + 1] = argv[i]
    end
    i = i + 1
  end
  if out.model == nil then out.model = rt.env.model end
  return out
end

local args = setmetatable(loose(), { __metatable = false, __call = function(_, spec)
  check.arg("args", "the argument", spec, "table")
  return parse(spec)
end })

return { sg = { args = args } }
