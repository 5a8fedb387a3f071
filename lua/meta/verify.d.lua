---@meta sandglass.verify

---An action or another event as a flat table; src/query/row.h lists all fields.
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
---@field wait_s? number seconds until you decided

---@class sg.Log
local Log = {}
---Iterates over the matching rows, in order.
---@param filter? string in the filter language
---@return fun(): sg.Row?
function Log:each(filter) end
---Returns all matching rows.
---@return sg.Row[]
function Log:find(filter) end
---Returns the first matching row.
---@return sg.Row?
function Log:first(filter) end
---Returns the last matching row.
---@return sg.Row?
function Log:last(filter) end
---Returns the number of matching rows.
---@return integer
function Log:count(filter) end
---Returns the row of an action.
---@param id integer
---@return sg.Row
function Log:row(id) end
---Returns the row of an event; actions are events, too.
---@param id integer
---@return sg.Row
function Log:event(id) end
---Returns the sum of a field over the matching rows.
---@param field string "cost", "dur_s", "wait_s", "tokens"
---@return number
function Log:sum(field, filter) end
---Returns the largest value of a field in the matching rows.
---@return number
function Log:max(field, filter) end
---Runs a query and returns its rows.
---@param text string SELECT over the tables and views of schema/README.md
---@return table[]
function Log:sql(text) end
---Returns the output of an action.
---@param e sg.Row|integer
---@param stream? "out"|"err"|"pty"
---@return string
function Log:output(e, stream) end
---Returns the actions whose output matches a pattern.
---@param regex string POSIX extended
---@return integer[]
function Log:grep(regex) end
---Returns the file changes of an event, or of the session.
---@param e? sg.Row|integer
---@return {id: integer, box: integer, op: string, path: string, by: integer[], agents: integer[]}[]
function Log:changes(e) end
---Returns the git tree of the last snapshot.
---@return string
function Log:final_tree() end
---Returns the git tree that results from all recorded changes.
---@return string
function Log:rebuild_tree() end
---Returns facts about the session.
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
---Like `check`, but a failure is only a warning.
---@param o? sg.CheckOptions
function Test:warn(name, ok, evidence, o) end
---@param o? sg.CheckOptions
function Test:equal(name, got, want, o) end
---Checks the required result of a suite's scenario; the other checks cover the steps to it.
---@param o? sg.CheckOptions
function Test:result(name, ok, evidence, o) end
---@param why string
function Test:skip(name, why) end

local v = {}
---@param fn fun(log: sg.Log, t: sg.Test)
function v.checks(fn) end
return v
