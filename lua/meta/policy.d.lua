---@meta sandglass.policy

---What an action is about, as a rule's `when` sees it.
---@class sg.Act
---@field kind string
---@field cmd? string
---@field path? string
---@field host? string
---@field agent? string
---@field box? string
---@field commands sg.Command[] # each simple command of a line, also behind && | ; $( ) sh -c env sudo xargs

---@class sg.Command
---@field words string[]
local Command = {}
---The words that are no options.
---@return string[]
function Command:targets() end
---@param flag string
---@return boolean
function Command:has(flag) end

---All that is given must match; of a list one; "!x": anything but x.
---@class sg.Rule
---@field kind? string|string[]   "exec", "write", "edit", "connect", ...
---@field cmd? string|string[]    word by word: "git push *", "git push ... --force*"
---@field path? string|string[]   "src/**"
---@field host? string|string[]   "*.example.org"
---@field tool? string|string[]
---@field agent? string|string[]
---@field box? string|string[]
---@field url? string|string[]
---@field method? string|string[]
---@field lifts? string|string[]  of an allow: the asks of these rules, by name
---@field where? "box"|"host"
---@field tainted? boolean        the agent has read what came from outside
---@field match? string           a filter
---@field when? fun(act: sg.Act): boolean?, string?  asked last, in a process of its own; 50 ms, cannot wait
---@field why? string
---@field say? string             of a deny: what the model is told
---@field risk? "low"|"medium"|"high"
---@field confirm? "type"         the person types the box's name
---@field limit? { time: sg.Time }
---@field timeout? sg.Time        of an ask
---@field on_timeout? "deny"|"hold"|"allow"

local M = {}
---@param name string
---@return fun(rule: sg.Rule): table
function M.allow(name) end
---@param name string
---@return fun(rule: sg.Rule): table
function M.ask(name) end
---@param name string
---@return fun(rule: sg.Rule): table
function M.deny(name) end
---Rules as a list, and what holds where none matches. The strictest verdict of all files wins.
---@param o { default: "allow"|"ask"|"deny"|"boxed"|"careful"|nil, [integer]: table }
function M.rules(o) end
return M
