---@meta sandglass.verify

---An action or another event, flat: src/query/row.h names all fields.
---@class sg.Row
---@field id integer
---@field kind string
---@field cmd? string
---@field path? string
---@field host? string
---@field agent? string
---@field verdict? "allow"|"ask"|"deny"
---@field by? string
---@field person? string
---@field exit? integer
---@field cost? number dollars
---@field dur_s? number
---@field wait_s? number until a user decided

---@class sg.Log
local Log = {}
---@param filter? string in the filter language
---@return fun(): sg.Row?
function Log:each(filter) end
---@return sg.Row[]
function Log:find(filter) end
---@return sg.Row?
function Log:first(filter) end
---@return sg.Row?
function Log:last(filter) end
---@return integer
function Log:count(filter) end
---@param id integer
---@return sg.Row
function Log:row(id) end
---The same: actions are events.
---@param id integer
---@return sg.Row
function Log:event(id) end
---@param field string "cost", "dur_s", "wait_s", "tokens"
---@return number
function Log:sum(field, filter) end
---@return number
function Log:max(field, filter) end
---@param text string SELECT over the tables and views of schema/README.md
---@return table[]
function Log:sql(text) end
---@param e sg.Row|integer
---@param stream? "out"|"err"|"pty"
---@return string
function Log:output(e, stream) end
---@param regex string POSIX extended
---@return integer[] actions whose output has it
function Log:grep(regex) end
---@param e? sg.Row|integer
---@return {id: integer, box: integer, op: string, path: string, by: integer[], agents: integer[]}[]
function Log:changes(e) end
---@return string
function Log:final_tree() end
---@return string
function Log:rebuild_tree() end
---@return {id: string, name: string, live: boolean, head: integer, script?: string, agents: table[]}
function Log:session() end

---@alias sg.CheckOptions {warn?: boolean, text?: string, class?: string, evidence?: any}
---@class sg.Test
local Test = {}
---@param o? sg.CheckOptions
function Test:check(name, ok, evidence, o) end
---@param rows sg.Row[]
---@param o? sg.CheckOptions
function Test:none(name, rows, o) end
---@param rows sg.Row[]
---@param o? sg.CheckOptions
function Test:some(name, rows, o) end
---@param o? sg.CheckOptions
function Test:max(name, value, most, o) end
---@param o? sg.CheckOptions
function Test:min(name, value, least, o) end
---As check, but what does not hold is a warning.
---@param o? sg.CheckOptions
function Test:warn(name, ok, evidence, o) end
---@param o? sg.CheckOptions
function Test:equal(name, got, want, o) end
---In suites: the required result. Other checks judge the steps to it.
---@param o? sg.CheckOptions
function Test:result(name, ok, evidence, o) end
---@param why string
function Test:skip(name, why) end

local v = {}
---@param fn fun(log: sg.Log, t: sg.Test)
function v.checks(fn) end
return v
