-- Messages of Protocol Buffers, of types declared in a part of its own language:
--
--   local types = protobuf [[ message Tag { string name = 1; repeated string value = 2; Box of = 3; } ]]
--   types.encode("Tag", { name = "a", value = { "b" } })   -> bytes; fields that are nil are left out
--   types.decode("Tag", bytes)                             -> table, or nil and why; unknown fields are skipped
--
-- Kinds of fields: string, bytes (both any bytes), float, double, a message's name; every other word is an integer or a
-- bool (a varint: a number here, whatever it is there). A map is a repeated message { key = 1; value = 2; }.
local VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
local KINDS = { string = BYTES, bytes = BYTES, float = FOUR_BYTES, double = EIGHT_BYTES }
local PACKED = { float = "<f", double = "<d" }

local function fields_of(text, messages)
  local fields = {}
  for words, name, number in text:gmatch "([%w_%s]+)%s([%w_]+)%s*=%s*(%d+)%s*;" do
    fields[#fields + 1] = { name = name, number = tonumber(number), many = words:find "^%s*repeated%s" ~= nil,
      kind = words:match "([%w_]+)%s*$", of = messages }
  end
  return fields
end

local function varint(n)
  local out = {}
  while n > 127 or n < 0 do   -- what is negative has its 64 bits
    out[#out + 1] = string.char(n & 127 | 128)
    n = n >> 7
  end
  out[#out + 1] = string.char(n)
  return table.concat(out)
end

-- The number at @at and the position after it; nil if there is none.
local function varint_at(s, at)
  local n = 0
  for shift = 0, 63, 7 do
    local b = s:byte(at)
    if not b then return nil end
    at = at + 1
    n = n | (b & 127) << shift
    if b < 128 then return n, at end
  end
end

return function(text)
  local M, messages = {}, {}
  for name, body in text:gmatch "message%s+([%w_]+)%s*(%b{})" do messages[name] = fields_of(body, messages) end
  for name, fields in pairs(messages) do
    fields.by_number = {}
    for _, f in ipairs(fields) do
      f.wire = (messages[f.kind] and BYTES) or KINDS[f.kind] or VARINT
      fields.by_number[f.number] = f
    end
  end

  local function put(out, f, v)
    out[#out + 1] = varint(f.number << 3 | f.wire)
    if f.wire == VARINT then
      out[#out + 1] = varint(v == true and 1 or v or 0)
    elseif PACKED[f.kind] then
      out[#out + 1] = string.pack(PACKED[f.kind], v)
    else
      if messages[f.kind] then v = M.encode(f.kind, v) end
      out[#out + 1] = varint(#v) .. v
    end
  end

  function M.encode(name, t)
    local out = {}
    for _, f in ipairs(messages[name]) do
      local v = t[f.name]
      if f.many then
        for _, item in ipairs(v or {}) do put(out, f, item) end
      elseif v ~= nil then
        put(out, f, v)
      end
    end
    return table.concat(out)
  end

  -- The value at @at of kind @wire, and the position after it.
  local function value_at(s, at, wire)
    if wire == VARINT then return varint_at(s, at) end
    local n = wire == EIGHT_BYTES and 8 or wire == FOUR_BYTES and 4
    if wire == BYTES then n, at = varint_at(s, at) end
    if not n or n < 0 or n > #s - at + 1 then return nil end
    return s:sub(at, at + n - 1), at + n
  end

  function M.decode(name, s)
    local t, fields, at = {}, messages[name], 1
    for _, f in ipairs(fields) do if f.many then t[f.name] = {} end end
    while at <= #s do
      local key, v, why
      key, at = varint_at(s, at)
      if not key then return nil, name .. " breaks off" end
      v, at = value_at(s, at, key & 7)
      if v == nil then return nil, name .. " breaks off, or holds what nothing holds" end
      local f = fields.by_number[key >> 3]
      if f and f.wire == key & 7 then
        if messages[f.kind] then
          v, why = M.decode(f.kind, v)
          if not v then return nil, why end
        elseif PACKED[f.kind] then
          v = string.unpack(PACKED[f.kind], v)
        end
        if f.many then table.insert(t[f.name], v) else t[f.name] = v end
      end
    end
    return t
  end

  return M
end
