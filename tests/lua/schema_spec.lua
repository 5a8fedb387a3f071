-- Arguments of tools against their schema: what is repaired, what is refused, and in which words.
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
    "parameter 'edits[2].line' is string, integer is wanted")
  refused({ edits = edits }, { edits = { {  line = 1, lines = 2 } } },
    "no parameter 'edits[1].lines' (did you mean 'line'?)")
  refused({ edits = edits }, { edits = { { line = nil, x = nil } } }, "parameter 'edits[1].line' is missing")
end)

it "several types, constants, choices that are not strings" (function()
  eq(schema.check({ properties = { v = { type = { "string", "integer" } } } }, { v = 3 }), { v = 3 })
  refused({ v = { type = { "string", "integer" } } }, { v = true },
    "parameter 'v' is boolean, string or integer is wanted")
  refused({ v = { enum = { 1, 2, true } } }, { v = 3 }, "parameter 'v' is '3', one of 1, 2, true is wanted")
  refused({ v = { const = "a" } }, { v = "b" }, "parameter 'v' is 'b', one of a is wanted")
  refused({ v = { anyOf = { { type = "integer" }, { type = "boolean" } } } }, { v = "x" },
    "parameter 'v' is string, integer is wanted (none of its 2 forms fits)")
end)

it "a default stands in for a required value; other names by their schema" (function()
  eq(schema.check({ properties = { n = { type = "integer", default = 4 } }, required = { "n" } }, {}), { n = 4 })
  refused({}, { extra = "x" }, "parameter 'extra' is string, integer is wanted",
    { additionalProperties = { type = "integer" } })
  refused(nil, { extra = 1 }, "no parameter 'extra'", { additionalProperties = false })
end)
