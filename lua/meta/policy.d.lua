---@meta sandglass.policy

---What an action is about, as a rule's `when` sees it.
---@class sg.Act
---@field kind string
---@field tool? string
---@field cmd? string
---@field argv? string[]
---@field commands? sg.Command[] # each simple command of a line, also behind && | ; $( ) sh -c env sudo xargs
---@field opaque boolean         some of the line could not be taken apart
---@field path? string           in the box
---@field host_path? string      of put and get: on the host
---@field host? string
---@field port? integer
---@field url? string
---@field method? string
---@field cwd string
---@field agent? string
---@field agent_id integer
---@field box? string
---@field box_id integer
---@field where "box"|"host"
---@field tainted boolean        the agent has read what came from outside
---@field data? string           of a write
---@field args? table            of a tool

---@class sg.Command
---@field words string[]
---@field redirects string[]
---@field env string[]
---@field dynamic boolean         a word is known only to the shell
local Command = {}
---The words that are no options.
---@return string[]
function Command:targets() end
---@param flag string
---@return boolean
function Command:has(flag) end

---All that is given must match; of a list one; "!x": anything but x.
---@class sg.Rule
---@field kind? string|string[]   exec, read, write, edit, connect, model, host, mcp, ask, snapshot, rollback, merge, put, get, shell, fetch, port
---@field cmd? string|string[]    word by word: "git push *", "git push ... --force*"
---@field path? string|string[]   "src/**"
---@field host? string|string[]   "*.example.org"
---@field tool? string|string[]   name of a tool; "mcp:SERVER:*"
---@field agent? string|string[]
---@field box? string|string[]
---@field url? string|string[]    of a fetch: "https://docs.example.org/*"
---@field method? string|string[] of a fetch: "GET"
---@field lifts? string|string[]  of an allow in .sandglass/added.lua: the asks of these rules, by name
---@field where? "box"|"host"      where it is done
---@field tainted? boolean        the agent has read what came from outside
---@field match? string           a filter: sandglass-filter(7)
---@field when? fun(act: sg.Act): boolean?, string?  asked last, in a process of its own; 50 ms, cannot wait
---@field why? string             for the user who is asked
---@field say? string             of a deny: the text that the model receives
---@field risk? "low"|"medium"|"high"  how loudly it is shown
---@field confirm? "type"         the user types the box's name
---@field limit? { time: sg.Time }  how long what it matches may run
---@field timeout? sg.Time        of an ask: nobody has answered
---@field on_timeout? "deny"|"hold"|"allow"

local p = {}
---@param name string
---@return fun(rule: sg.Rule): table
function p.allow(name) end
---@param name string
---@return fun(rule: sg.Rule): table
function p.ask(name) end
---@param name string
---@return fun(rule: sg.Rule): table
function p.deny(name) end
---Rules as a list, and what holds where none matches. The strictest verdict of all files wins.
---@param o { default: "allow"|"ask"|"deny"|"boxed"|"careful"|nil, [integer]: table }
function p.rules(o) end
return p
