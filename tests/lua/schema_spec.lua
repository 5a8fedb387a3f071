-- Arguments of tools against their schema: the repairs, the refusals, and their texts.
local schema = require "sandglass.schema"
local spec = require "spec"
local it, eq = spec.it, spec.eq

local function refused(properties, args, text, more)
  local s = { type = "object", properties = properties }
  for k, v in pairs(more or {}) do s[k] = v end
  local good, wrong = schema.check(s, args)
  eq(good, nil)
  eq(wrong, text)
end

it "ranges of numbers, lengths of strings and lists" (function()
  refused({ n = { type = "integer", minimum = 1 } }, { n = 0 }, "parameter 'n' is less than 1")
  refused({ n = { type = "number", exclusiveMaximum = 2 } }, { n = 2 }, "parameter 'n' is not less than 2")
  refused({ s = { type = "string", maxLength = 2 } }, { s = "abc" }, "parameter 's' is longer than 2 characters")
  refused({ l = { type = "array", minItems = 2 } }, { l = { 1 } }, "parameter 'l' has fewer than 2 items")
  eq(schema.check({ properties = { v = { minimum = 3 } } }, { v = "text" }), { v = "text" })
end)

it "a path into lists and objects" (function()
  local edits = { type = "array", items = { type = "object", properties = { line = { type = "integer" } },
    required = { "line" }, additionalProperties = false } }
  refused({ edits = edits }, { edits = { { line = 1 }, { line = "x" } } },
    "parameter 'edits[2].line': expected integer, got string")
  refused({ edits = edits }, { edits = { {  line = 1, lines = 2 } } },
    "unknown parameter 'edits[1].lines'; did you mean 'line'?")
  refused({ edits = edits }, { edits = { { line = nil, x = nil } } }, "parameter 'edits[1].line' is missing")
end)

it "several types, constants, choices that are not strings" (function()
  eq(schema.check({ properties = { v = { type = { "string", "integer" } } } }, { v = 3 }), { v = 3 })
  refused({ v = { type = { "string", "integer" } } }, { v = true },
    "parameter 'v': expected string or integer, got boolean")
  refused({ v = { enum = { 1, 2, true } } }, { v = 3 }, "parameter 'v': expected one of 1, 2, true, got '3'")
  refused({ v = { const = "a" } }, { v = "b" }, "parameter 'v': expected one of a, got 'b'")
  refused({ v = { anyOf = { { type = "integer" }, { type = "boolean" } } } }, { v = "x" },
    "parameter 'v': expected integer, got string (none of its 2 forms fits)")
end)

it "a default replaces a missing required value; additional names follow their schema" (function()
  eq(schema.check({ properties = { n = { type = "integer", default = 4 } }, required = { "n" } }, {}), { n = 4 })
  refused({}, { extra = "x" }, "parameter 'extra': expected integer, got string",
    { additionalProperties = { type = "integer" } })
  refused(nil, { extra = 1 }, "unknown parameter 'extra'", { additionalProperties = false })
end)

-- Registered as a tool does it, then checked.
local function tool_schema(properties, more)
  local s = { type = "object", properties = properties }
  for k, v in pairs(more or {}) do s[k] = v end
  return schema.compile("tool 't'", s)
end

local function bad(properties, args, text, more)
  local good, wrong = schema.check(tool_schema(properties, more), args)
  eq({ good, wrong }, { nil, text })
end

local function fine(properties, args, want, more)
  local good, wrong = schema.check(tool_schema(properties, more), args)
  eq(wrong, nil)
  eq(good, want or args)
end

it "patterns" (function()
  local p = { s = { type = "string", pattern = "^[a-z]+-\\d{2,3}$" } }
  fine(p, { s = "ab-12" })
  bad(p, { s = "ab-1" }, "parameter 's' does not match ^[a-z]+-\\d{2,3}$")
  fine({ s = { pattern = "b" } }, { s = "abc" })
  fine({ s = { pattern = "^\\S+$" } }, { s = "\u{4e16}" })
  fine({ s = { pattern = "x" } }, { s = 3 })
end)

it "formats" (function()
  for format, list in pairs {
    date = { "2024-02-29", "2023-02-29" }, time = { "23:59:60Z", "24:00:00Z" },
    ["date-time"] = { "2026-11-21T10:00:00.5+01:00", "2026-11-21 10:00" }, email = { "a@b.org", "a b@c" },
    uri = { "https://a/b?c", "no scheme" }, uuid = { "123e4567-e89b-12d3-a456-426614174000", "123e4567" },
    ipv4 = { "127.0.0.1", "1.2.3.256" }, hostname = { "a.example", "-a.example" }, regex = { "^a$", "(" },
  } do
    fine({ s = { type = "string", format = format } }, { s = list[1] })
    bad({ s = { type = "string", format = format } }, { s = list[2] }, "parameter 's': expected " .. format)
  end
  fine({ n = { type = "integer", format = "int64" } }, { n = 1 })
end)

it "allOf, oneOf, not" (function()
  local both = { n = { allOf = { { type = "integer" }, { minimum = 3 } } } }
  fine(both, { n = "4" }, { n = 4 })
  bad(both, { n = 2 }, "parameter 'n' is less than 3")
  local one = { v = { oneOf = { { type = "integer" }, { type = "string", minLength = 2 } } } }
  fine(one, { v = 7 })
  fine(one, { v = "ab" })
  bad({ v = { oneOf = { { type = "integer" }, { type = "number" } } } }, { v = 7 }, "parameter 'v' fits 2 of its forms, expected 1")
  bad({ v = { ["not"] = { enum = { "rm" } } } }, { v = "rm" }, "parameter 'v' is what it must not be")
  fine({ v = { ["not"] = { type = "integer" } } }, { v = "5" })
  bad({ a = {}, b = {} }, { a = 1, b = 2 }, "the whole is what it must not be", { ["not"] = { required = { "a", "b" } } })
  bad({ a = {}, b = {} }, {}, "parameter 'a' is missing (none of its 2 forms fits)",
    { anyOf = { { required = { "a" } }, { required = { "b" } } } })
end)

it "references within the schema" (function()
  local defs = { ["$defs"] = { step = { type = "object", required = { "name" }, properties = { name = { type = "string" },
    next = { ["$ref"] = "#/$defs/step" } } }, ["a/b"] = { type = "integer" } } }
  local p = { s = { ["$ref"] = "#/$defs/step" } }
  fine(p, { s = { name = "a", next = { name = "b" } } }, nil, defs)
  bad(p, { s = { name = "a", next = {} } }, "parameter 's.next.name' is missing", defs)
  bad({ n = { ["$ref"] = "#/$defs/a~1b" } }, { n = "x" }, "parameter 'n': expected integer, got string", defs)
  local deep = { name = "x" }
  for _ = 1, 300 do deep = { name = "x", next = deep } end
  local _, wrong = schema.check(tool_schema(p, defs), { s = deep })
  eq(wrong:sub(-22), "' is nested too deeply")
end)

it "the rest: multiples, distinct items, numbers of names, and choices that are tables" (function()
  bad({ n = { multipleOf = 5 } }, { n = 7 }, "parameter 'n' is not a multiple of 5")
  fine({ n = { multipleOf = 0.1 } }, { n = 0.3 })
  bad({ l = { type = "array", uniqueItems = true } }, { l = { 1, 2, 1 } }, "parameter 'l' has an item twice")
  bad({ o = { type = "object", maxProperties = 1 } }, { o = { a = 1, b = 2 } }, "parameter 'o' has more than 1 names")
  fine({ v = { enum = { { a = 1 } } } }, { v = { a = 1 } })
end)

it "a schema that cannot be checked is an error when it is registered" (function()
  local function no(text, s, more) spec.fails("~" .. text, tool_schema, { v = s }, more) end
  no("tool 't': 'v': unsupported schema keyword 'patternProperties'; leave it out, and check in `run`",
    { patternProperties = {} })
  no("unsupported schema keyword 'if'", { ["if"] = {} })
  no("the schema keyword 'minlength' is not known; did you mean 'minLength'?", { minlength = 1 })
  no("the pattern '(?=a)' is not understood: look-around and named groups are not known here", { pattern = "(?=a)" })
  no("unknown format 'emial'; did you mean 'email'?", { format = "emial" })
  no("no type 'int'", { type = "int" })
  no("$ref 'https://example.org/x' points nowhere", { ["$ref"] = "https://example.org/x" })
  no("$ref '#/$defs/none' points nowhere", { ["$ref"] = "#/$defs/none" })
  no("leads round in a circle", { ["$ref"] = "#/$defs/a" },
    { ["$defs"] = { a = { allOf = { { ["$ref"] = "#/$defs/a" } } } } })
  fine({ v = { title = "t", ["x-order"] = 1, deprecated = true } }, { v = 1 })
  eq(schema.compile("mcp", { type = "object", properties = { v = { ["if"] = {} } } }, true).properties.v, { ["if"] = {} })
end)
