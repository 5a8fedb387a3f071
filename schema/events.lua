-- Makes code and schema of the declarations of events (src/*/events.def; src/wire/events.def explains them).
--
--     run_lua schema/events.lua OUT FILE...
--
-- OUT is a directory: event_kinds.inc, event_bodies.inc, event_table.inc, event_records.inc, event_names.inc,
-- event_docs.inc, and events.json are written there, each only if it changes.
local out, files = arg[1], { table.unpack(arg, 2) }

local structs, events, order = {}, {}, {} -- by name; by number; structs and events in the order of their declaration

-- --- reading ---------------------------------------------------------------------------------------------------------

local function fail(at, text, ...)
  error(("%s: " .. text):format(at, ...), 0)
end

local function texts(line) -- the quoted strings of a line
  local list = {}
  for s in line:gmatch('"([^"]*)"') do list[#list + 1] = s end
  return list
end

-- wire/events.def lists them; a number in another directory's range would take one that it gives out later
local RANGE = { record = { 1, 99 }, action = { 100, 199 }, sandbox = { 200, 299 }, proxy = { 300, 349 }, control = { 350, 399 },
  supervisor = { 400, 699 } }
local FIELDS_MAX = 128 -- as in src/wire/event_decode.c

local function check_number(at, number)
  local dir = at:match "([^/]*)/events%.def"
  local range = RANGE[dir]
  if not range then fail(at, "directory '%s' has no range of numbers: add one to RANGE in schema/events.lua", dir or "?") end
  if number < range[1] or number > range[2] then
    fail(at, "expected a number from %d to %d in this directory, got %d", range[1], range[2], number)
  end
end

local function declare(at, kind, number, name)
  local d = { at = at, kind = kind, number = number, name = name, text = {}, fields = {}, by_name = {} }
  d.c = "ev_" .. name:gsub("%.", "_")
  if kind == "event" then check_number(at, number) end
  local known = kind == "event" and events[number]
  if known then fail(at, "number %d is declared at %s", number, known.at) end
  for _, other in ipairs(order) do
    if other.c == d.c then fail(at, "'%s' is declared at %s", name, other.at) end
  end
  if kind == "event" then events[number] = d else structs[name] = d end
  order[#order + 1] = d
  return d
end

local function field_of(at, d, name, spec)
  if d.by_name[name] then fail(at, "field '%s' is declared twice", name) end
  if name == "there" or name == "decoded" then fail(at, "'%s' is the name of a member that each struct has", name) end
  local f = { at = at, name = name, spec = spec, text = {}, has = spec:sub(-1) == "!" }
  spec = f.has and spec:sub(1, -2) or spec
  local inner, shape = spec, "ONE"
  for _, s in ipairs { { "^%[%[([%w_]+)%]%]$", "LISTS" }, { "^%[([%w_]+)%]$", "LIST" }, { "^{([%w_]+)}$", "MAP" } } do
    local t = spec:match(s[1])
    if t then inner, shape = t, s[2] end
  end
  f.type, f.shape = inner, shape
  d.fields[#d.fields + 1], d.by_name[name] = f, f
  return f
end

local function read_line(at, line, d, last)
  local head = line:gsub('"[^"]*"', "") -- texts are read apart
  local number, name = head:match "^event (%d+) ([%w_.]+)%s*$"
  local struct = head:match "^struct ([%w_]+)%s*$"
  local field, spec = head:match "^\t([%w_]+) ([%w_%[%]{}]+!?)%s*$"
  if number then
    d = declare(at, "event", math.tointeger(number), name)
    last = d
  elseif struct then
    d = declare(at, "struct", nil, struct)
    last = d
  elseif field then
    if not d then fail(at, "a field before any event") end
    last = field_of(at, d, field, spec)
  elseif not (head:match "^%s*$" and last) then
    fail(at, "expected 'event NUMBER NAME \"text\"', 'struct NAME \"text\"', or a tab and 'FIELD TYPE \"text\"': %s", line)
  end
  for _, s in ipairs(texts(line)) do last.text[#last.text + 1] = s end
  return d, last
end

local function read_file(path)
  local d, last, nr = nil, nil, 0
  for line in io.lines(path) do
    nr = nr + 1
    if line:match "^%s*$" then d, last = nil, nil
    elseif not line:match "^#" then d, last = read_line(path .. ":" .. nr, line, d, last) end
  end
end

local BASE = { int = "INT", flag = "FLAG", str = "STR", bytes = "BYTES", json = "JSON" }

local function check()
  for _, d in ipairs(order) do
    d.text = table.concat(d.text, " ")
    if d.text == "" then fail(d.at, "'%s' has no text", d.name) end
    if #d.fields > FIELDS_MAX then fail(d.at, "'%s' has more than %d fields", d.name, FIELDS_MAX) end
    for _, f in ipairs(d.fields) do
      f.text = table.concat(f.text, " ")
      if f.text == "" then fail(f.at, "field '%s' has no text", f.name) end
      f.sub = structs[f.type]
      if not BASE[f.type] and not f.sub then fail(f.at, "unknown type '%s'", f.type) end
      if f.has and f.shape ~= "ONE" then fail(f.at, "a list or map can't be marked with !") end
    end
  end
  -- a structure is defined before those that hold it
  local done, sorted = {}, {}
  local function visit(d)
    if done[d] == "now" then fail(d.at, "'%s' holds itself", d.name) end
    if done[d] then return end
    done[d] = "now"
    for _, f in ipairs(d.fields) do
      if f.sub then visit(f.sub) end
    end
    done[d] = true
    sorted[#sorted + 1] = d
  end
  for _, d in ipairs(order) do visit(d) end
  order = sorted
end

local function numbers()
  local list = {}
  for n in pairs(events) do list[#list + 1] = n end
  table.sort(list)
  return list
end

-- --- C ---------------------------------------------------------------------------------------------------------------

local function upper(name) return (name:upper():gsub("%.", "_")) end

local RESERVED = {} -- keywords of C
for word in ([[auto bool break case char const continue default do double else enum extern false float for goto if inline int
  long register restrict return short signed sizeof static struct switch true typedef union unsigned void volatile
  while]]):gmatch "%a+" do RESERVED[word] = true end
local function c_name(f) return RESERVED[f.name] and f.name .. "_" or f.name end

local C_TYPE = { int = "int64_t", flag = "bool", str = "struct ev_text", bytes = "struct ev_text", json = "struct ev_text" }

local function c_member(f)
  local t = C_TYPE[f.type] or "struct " .. f.sub.c
  if f.shape == "LIST" then return ("struct { size_t nr; %s *item; } %s"):format(t, c_name(f)) end
  if f.shape ~= "ONE" then return "struct ev_text " .. c_name(f) end
  return t .. " " .. c_name(f)
end

local MADE = "/* Made by schema/events.lua. */"

local function c_kinds()
  local h = { MADE, "enum event_kind {" }
  for _, n in ipairs(numbers()) do h[#h + 1] = ("\tEV_%s = %d,"):format(upper(events[n].name), n) end
  return table.concat(h, "\n") .. "\n};\n"
end

local function c_bodies()
  local h = { MADE }
  local function put(s, ...) h[#h + 1] = select("#", ...) > 0 and s:format(...) or s end
  for _, d in ipairs(order) do
    put("/* %s: %s */", d.name, d.text)
    put("struct %s {", d.c)
    if d.kind == "event" then put "\tstruct ev_state decoded;" end
    if d.kind == "struct" then put "\tbool there; /* the object is there */" end
    for _, f in ipairs(d.fields) do
      if f.has then put("\tbool has_%s;", c_name(f)) end
      put("\t%s; /* %s */", c_member(f), f.text)
    end
    put "};"
    put("extern const struct event_desc desc_%s;", d.c)
  end
  return table.concat(h, "\n") .. "\n"
end

local function c_table()
  local c = { MADE }
  local function put(s, ...) c[#c + 1] = s:format(...) end
  for _, d in ipairs(order) do
    if #d.fields > 0 then
      put("static const struct event_field fields_%s[] = {", d.c)
      for _, f in ipairs(d.fields) do
        put('\t{ "%s", %d, EVT_%s, EVS_%s, offsetof(struct %s, %s), %s, %s },', f.name, #f.name, BASE[f.type] or "STRUCT",
          f.shape, d.c, c_name(f), f.has and ("offsetof(struct %s, has_%s)"):format(d.c, c_name(f)) or "0",
          f.sub and "&desc_" .. f.sub.c or "NULL")
      end
      put "};"
    end
    put('const struct event_desc desc_%s = { "%s", %s, %d, sizeof(struct %s) };', d.c, d.name,
      #d.fields > 0 and "fields_" .. d.c or "NULL", #d.fields, d.c)
  end
  put "static const struct { uint16_t kind; const struct event_desc *desc; } event_descs[] = {"
  for _, n in ipairs(numbers()) do put("\t{ %d, &desc_%s },", n, events[n].c) end
  put "};"
  return table.concat(c, "\n") .. "\n"
end

local function c_records()
  local h = { MADE }
  for _, n in ipairs(numbers()) do
    local d = events[n]
    h[#h + 1] = ([[
static inline uint64_t record_%s(struct record *r, const struct event *at, const struct %s *body)
{
	return record_event(r, EV_%s, at, &desc_%s, body);
}]]):format(d.c, d.c, upper(d.name), d.c)
  end
  return table.concat(h, "\n") .. "\n"
end

-- names of the fields, for the table of kinds in each session file
local function brief(d)
  local names = {}
  for _, f in ipairs(d.fields) do
    names[#names + 1] = f.name .. (f.shape == "LIST" and "[]" or (f.shape == "MAP" or f.sub) and "{}" or "")
  end
  return d.text .. (#names > 0 and " Fields: " .. table.concat(names, ", ") .. "." or "")
end

local function kinds()
  local c = {}
  for _, n in ipairs(numbers()) do
    local d = events[n]
    c[#c + 1] = ("KIND(%d, %s, %q, %q)"):format(n, upper(d.name), d.name, brief(d))
  end
  return table.concat(c, "\n") .. "\n"
end

local function docs()
  local c = {}
  local function put(s, ...) c[#c + 1] = s:format(...) end
  local function fields(d)
    for _, f in ipairs(d.fields) do put("EVENT_FIELD(%q, %q, %q)", f.name, f.spec:gsub("!", ""), f.text) end
  end
  for _, n in ipairs(numbers()) do
    put("EVENT_DOC(%q, %q)", events[n].name, events[n].text)
    fields(events[n])
  end
  local names = {}
  for name in pairs(structs) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    put("EVENT_STRUCT(%q, %q)", name, structs[name].text)
    fields(structs[name])
  end
  return table.concat(c, "\n") .. "\n"
end

-- --- JSON Schema -----------------------------------------------------------------------------------------------------

local function quote(s) return '"' .. s:gsub('[\\"]', "\\%0") .. '"' end

local JSON = { int = '{ "type": "integer" }', flag = '{ "type": "boolean" }', str = '{ "$ref": "#/$defs/text" }',
  bytes = '{ "$ref": "#/$defs/text" }', json = "{}" }

local function json_type(f)
  local t = JSON[f.type] or ('{ "$ref": "#/$defs/%s" }'):format(f.type)
  if f.shape == "LIST" then return ('{ "type": ["array", "object"], "items": %s, "maxProperties": 0 }'):format(t) end
  if f.shape == "LISTS" then return ('{ "type": "array", "items": { "type": "array", "items": %s } }'):format(t) end
  if f.shape == "MAP" then return ('{ "type": "object", "additionalProperties": %s }'):format(t) end
  return t
end

local function json_object(d, indent)
  local rows = {}
  for _, f in ipairs(d.fields) do
    rows[#rows + 1] = ('%s    %s: { "description": %s%s }'):format(indent, quote(f.name), quote(f.text),
      json_type(f) == "{}" and "" or ", " .. json_type(f):sub(3, -3))
  end
  return ('{\n%s  "description": %s,\n%s  "type": "object",\n%s  "properties": {\n%s\n%s  }\n%s}'):format(indent, quote(d.text),
    indent, indent, table.concat(rows, ",\n"), indent, indent)
end

local function json_schema()
  local defs, cases, names = {}, {}, {}
  for _, d in ipairs(order) do
    if d.kind == "struct" then defs[#defs + 1] = ('    "%s": %s'):format(d.name, json_object(d, "    ")) end
  end
  for _, n in ipairs(numbers()) do
    local d = events[n]
    names[#names + 1] = '"' .. d.name .. '"'
    defs[#defs + 1] = ('    "%s": %s'):format(d.name, json_object(d, "    "))
    cases[#cases + 1] = ('    { "if": { "properties": { "kind": { "const": "%s" } } },\n      "then": { "properties": { "body": { "$ref": "#/$defs/%s" } } } }')
      :format(d.name, d.name)
  end
  return ([[
{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "A line of 'sandglass events --json'",
  "description": "Made from the declarations of events. Any field may be absent; unknown kinds and fields come from newer versions.",
  "type": "object",
  "required": ["schema", "seq", "kind"],
  "properties": {
    "schema": { "const": 1 },
    "seq": { "type": "integer", "minimum": 1 },
    "time": { "type": "string" },
    "mono_us": { "type": "integer" },
    "kind": { "type": "string" },
    "cause": { "type": "integer" },
    "agent": { "type": "integer" },
    "box": { "type": "integer" },
    "action": { "type": "integer" }
  },
  "allOf": [
%s
  ],
  "$defs": {
    "text": {
      "description": "A string, or bytes that are not UTF-8 or hold NUL",
      "anyOf": [{ "type": "string" }, { "type": "object", "properties": { "b64": { "type": "string" } }, "required": ["b64"] }]
    },
%s
  }
}
]]):format(table.concat(cases, ",\n"), table.concat(defs, ",\n"))
end

-- --- writing ---------------------------------------------------------------------------------------------------------

local function write(name, text)
  local path = out .. "/" .. name
  local old = io.open(path, "rb")
  local same = old and old:read "a" == text
  if old then old:close() end
  if same then return end
  local f = assert(io.open(path, "wb"))
  f:write(text)
  assert(f:close())
end

for _, path in ipairs(files) do read_file(path) end
check()
write("event_kinds.inc", c_kinds())
write("event_bodies.inc", c_bodies())
write("event_table.inc", c_table())
write("event_records.inc", c_records())
write("event_names.inc", kinds())
write("event_docs.inc", docs())
write("events.json", json_schema())
