---@meta sandglass.policy

---An action as a rule's `when` receives it.
---@class sg.Act
---@field kind string
---@field tool? string
---@field cmd? string
---@field argv? string[]
---@field commands? sg.Command[] # each simple command of a line, also behind && | ; $( ) sh -c env sudo xargs
---@field opaque boolean         part of the command can't be parsed
---@field path? string           in the sandbox
---@field host_path? string      with put and get: the file on the host
---@field host? string
---@field port? integer
---@field url? string
---@field method? string
---@field cwd string
---@field agent? string
---@field agent_id integer
---@field box? string
---@field box_id integer
---@field boxes? { box: integer, name: string }[] of a merge of several: `when` runs for each, as `box`
---@field where "box"|"host"
---@field tainted boolean        the agent has read untrusted content
---@field data? string           content of a write
---@field args? table            arguments of a tool

---@class sg.Command
---@field words string[]
---@field redirects string[]
---@field env string[]
---@field dynamic boolean         an argument is known only to the shell
local Command = {}
---Returns the arguments that are not options.
---@return string[]
function Command:targets() end
---Returns whether the command has the option `flag`.
---@param flag string
---@return boolean
function Command:has(flag) end

---A rule matches if all its fields match. A list matches if one entry does; "!x" matches anything but x.
---@class sg.Rule
---@field kind? string|string[]   exec, read, write, edit, connect, model, host, mcp, ask, snapshot, rollback, merge, put, get, shell, fetch, port
---@field cmd? string|string[]    argument by argument: "git push *", "git push ... --force*"
---@field path? string|string[]   "src/**"
---@field host? string|string[]   "*.example.org"
---@field tool? string|string[]   name of a tool; "mcp:SERVER:*"
---@field agent? string|string[]
---@field box? string|string[]
---@field url? string|string[]    with fetch: "https://docs.example.org/*"
---@field method? string|string[] with fetch: "GET"
---@field lifts? string|string[]  with allow in .sandglass/added.lua: names of rules whose approval it answers
---@field where? "box"|"host"      where the action runs
---@field tainted? boolean        the agent has read untrusted content
---@field match? string           a filter: sandglass-filter(7)
---@field when? fun(act: sg.Act): boolean?, string?  called last, in its own process, for at most 50 ms; it can't wait
---@field why? string             the reason, shown with the approval
---@field say? string             with deny: the text that the model receives
---@field risk? "low"|"medium"|"high"  how prominently the approval is shown
---@field confirm? "type"         you must type the sandbox's name
---@field limit? { time: sg.Time }  time limit of a matching action
---@field timeout? sg.Time        with ask: how long the approval may stay unanswered
---@field on_timeout? "deny"|"hold"|"allow"

local p = {}
---Returns a function that makes a rule which allows matching actions.
---@param name string
---@return fun(rule: sg.Rule): table
function p.allow(name) end
---Returns a function that makes a rule which requires your approval.
---@param name string
---@return fun(rule: sg.Rule): table
function p.ask(name) end
---Returns a function that makes a rule which denies matching actions.
---@param name string
---@return fun(rule: sg.Rule): table
function p.deny(name) end
---Makes a policy of a list of rules; `default` applies without a matching rule. The strictest verdict of all files wins.
---@param o { default: "allow"|"ask"|"deny"|"boxed"|"careful"|nil, [integer]: table }
function p.rules(o) end
return p
