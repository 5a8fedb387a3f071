---@meta sandglass

---What can go wrong in the world: calls return `nil, err`. tostring(err) is one line; err.code is what programs test.
---@class sg.Error
---@field code "exit"|"timeout"|"denied"|"cancelled"|"budget"|"limit"|"net"|"model"|"backend"|"io"|"diverged"|"interrupted"|"lost"|"script"
---@field msg string
---@field why string?      # the person's or the rule's text
---@field rule string?     # name of the rule that denied
---@field event integer?   # seq to look at
---@field exit integer     # exit status for sg.exit
---@field cause any
---@field at string?       # "fix.lua:12"
---@field trace string?
---@field answer sg.Answer? # agent.run: what there was when it ended
---@field result sg.Result? # a command that was stopped: its output up to then

---@alias sg.Time number|string  # seconds or "500ms" "30s" "5m" "2h" "1d"

---@alias sg.Size number|string  # bytes or "512M" "1G"

---What a command came to. A non-zero exit is data.
---@class sg.Result
---@field ok boolean
---@field code integer?
---@field signal string?
---@field refused { host: string, port: integer, why: string }[]?  connections of the sandbox that were refused or cut while the command ran
---@field oom integer?      # so many processes of the box were killed by its memory limit meanwhile
---@field out string
---@field err string
---@field ms integer
---@field cut boolean      # out or err holds the first and last 32 KiB only; all of it is in the record
---@field event integer
---@field out_bytes integer
---@field err_bytes integer
---@field edited boolean?  # a person changed the command before it ran
---@field ran string?      # what ran then
---@field shell_ended boolean? # shell:run: the shell has ended with this status

---@class sg.ExecOpts
---@field timeout sg.Time?
---@field cwd string?
---@field env table<string,string>?
---@field stdin string?
---@field on_out fun(chunk: string, stream: "out"|"err")?  # whole characters, in order
---@field net "none"|string[]?
---@field user string?
---@field label string?
---@field parallel boolean?       # do not wait for other writing commands of the box
---@field on_interrupted "error"? # when the supervisor dies under it and the session is resumed, the call fails with code "interrupted", in a box as it was before; else the command is run again

---@class sg
---@field args table   # words of the command line: sg.args { repo = ".", "task" }, or sg.args.name
---@field env table    # model, backend, ...: what the supervisor says about this run
---@field json sg.json
---@field agent sg.agent
---@field host sg.host
local sg = {}

---@class sg.SandboxOpts
---@field name string?
---@field backend string?   # "process" (default), "container", "ssh", "vm", "pyodide", "kubernetes", "host", a plugin
---@field host string?      # backend ssh: "user@machine"; with user, port, key, config, dir
---@field user string?
---@field port integer?
---@field key string?       # file of a key
---@field config string?    # instead of ~/.ssh/config
---@field kernel string?    # backend vm: file; with modules (folder), accel ("kvm", "tcg")
---@field modules string?
---@field accel "kvm"|"tcg"?
---@field package string?   # backend pyodide: folder of the npm package; with node (program)
---@field node string?
---@field dir string?       # folder for boxes on that machine
---@field image (string|{dir:string})? name at the engine, or a root file system on this machine (container boxes; vm: a folder)
---@field build (string|table)? folder with a Dockerfile, a Dockerfile, or {dir=, file=, args=, net=} (container boxes)
---@field repo string|table<string,string>?
---@field repos table<string,string>?  # { api = "../api" }: each at /workspace/NAME
---@field copy boolean?
---@field net "none"|string[]|{ only: sg.Proxy }|nil  # "host:port" that may be reached
---@field proxies sg.Proxy[]?          # what it reaches with credentials of the host side
---@field limits { mem: sg.Size?, cpus: number?, pids: integer?, disk: sg.Size?, time: sg.Time?, gpu: integer? }?
---@field env table<string,string>?
---@field keep boolean?
---@field policy string?
---@field roots string[]?   # read-only folders of this machine (programs outside of /usr)
---@field trace "exec"|false?  # events for every program that runs and every connection, below the command that caused it, as the kernel sees them; for watching, no wall
---@field hold_exec string|string[]?  # word patterns ("git push *"): a process that is about to execute such a program, by its words or by its file, waits until a person decides; denied: EPERM
---@field expose string[]?  # masked paths that the box shall see
---@field mask { history: boolean? }?  # history: refuses to open if git tracks a masked file, so that its objects hold it
---@field accept string?    # "reduced": go on with less isolation than asked for
---@field options table?    # of the backend
---@field honeytokens (boolean|("aws"|"npm"|"github"|"env")[])?  # plants fake credentials in it; one that turns up in an output, a request, a message or a file is the event honeytoken.seen
---@field on_lost string?   # "restore": when the box dies, the call fails with code "lost" and the handle goes on in another box with the files of the last snapshot; else "error"

---Opens a box; raises when that fails.
---@async
---@param o? sg.SandboxOpts
---@return sg.Box
function sg.sandbox(o) end

---@class sg.Box
---@field id integer
---@field name string
---@field backend string
---@field profile string
---@field workspace string
---@field caps table
local Box = {}

---Runs a command and waits. A non-zero exit is not an error; see `Box:run`.
---@async
---@param cmd string|string[]   # string: `sh -c`; list: exactly these words, no shell
---@param o? sg.ExecOpts
---@return sg.Result? result
---@return sg.Error? err
---@nodiscard
function Box:exec(cmd, o) end

---Runs several commands one after another as one action: one question, one way to the box and back, one snapshot. Each
---runs in a shell of its own; `stop = true` ends it at the first that fails.
---@async
---@param list string[]
---@param o? sg.ExecOpts
---@return sg.Result[]? results   # of those that ran; `event` is that of the whole
---@return sg.Error? err
---@nodiscard
function Box:batch(list, o) end

---As exec, but a non-zero exit is an error with code "exit".
---@async
---@param cmd string|string[]
---@param o? sg.ExecOpts
---@return sg.Result? result
---@return sg.Error? err
function Box:run(cmd, o) end

---Starts a command and does not wait for it.
---@async
---@param cmd string|string[]
---@param o? sg.ExecOpts
---@return sg.Proc?
---@return sg.Error? err
function Box:spawn(cmd, o) end

---Connects to a server that listens in the box on its own loopback: read, lines, write and wait as of a process, kill closes it.
---@async
---@param port integer
---@param o? { wait: sg.Time? }       # wait: so long it is tried, for a server that is about to start
---@return sg.Proc?
---@return sg.Error? err
function Box:dial(port, o) end

---Opens a shell that keeps folder, variables and jobs from one command to the next.
---@async
---@param o? { cwd: string?, env: table<string,string>? }
---@return sg.Shell?
---@return sg.Error? err
function Box:shell(o) end

---Opens a Python interpreter that stays and keeps variables.
---@async
---@param language? "python"
---@return sg.Interpreter?
---@return sg.Error? err
function Box:interpreter(language) end

---The bytes of a file, or a part of them.
---@async
---@param path string
---@param o? { from: integer?, len: integer? }
---@return string? data
---@return sg.Error? err
function Box:read(path, o) end

---Writes a whole file; folders are made.
---@async
---@param path string
---@param data string
---@return integer? event
---@return sg.Error? err
function Box:write(path, data) end

---Replaces text that occurs exactly once (or every occurrence with `all`).
---@async
---@param path string
---@param old string
---@param new string
---@param o? { all: boolean? }
---@return integer? event
---@return sg.Error? err
function Box:edit(path, old, new, o) end

---Paths that match: "src/**/*.c".
---@async
---@param pattern string
---@return string[]? paths
---@return sg.Error? err
function Box:glob(pattern) end

---An address on this machine ("http://127.0.0.1:PORT") that leads to what listens on a port of the box's own loopback, until the
---box goes. Only this user and root are let in, and nobody while it is paused or frozen. An action of kind "port"; the policy
---decides. After resume nothing listens at an address from before: it has to be asked for again.
---@async
---@param port integer
---@return string? url
---@return sg.Error? err
function Box:url(port) end

---Copies a file of this machine in, with its mode (never set-uid, never for others to write); the policy decides.
---@async
---@param host string
---@param path string
---@return integer? event
---@return sg.Error? err
function Box:put(host, path) end

---Copies a file out to this machine, with its mode as in put; the policy decides.
---@async
---@param path string
---@param host string
---@return integer? event
---@return sg.Error? err
function Box:get(path, host) end

---@class sg.Snap
---@field event integer
---@field oid string
---@field label string?

---Keeps its files as they are now, under a label; a rollback or a diff may name it.
---@async
---@param label? string
---@return sg.Snap?
---@return sg.Error? err
function Box:snapshot(label) end

---Brings the files back to a snapshot, a label or an event (of an action: to what it left). Processes are not rolled back.
---@async
---@param to sg.Snap|string|integer
---@return integer? event
---@return sg.Error? err
function Box:rollback(to) end

---Another box with its files, or with those that it had at a point.
---@async
---@param o? { name: string?, at: sg.Snap|string|integer|nil }
---@return sg.Box?
---@return sg.Error? err
function Box:fork(o) end

---Returns what is left out of the sandbox and of its recording, as known now: masked files, mounts, unreadable paths, limits.
---@async
---@return sg.Notice[]?
---@return sg.Error? err
function Box:notices() end

---@class sg.Notice
---@field not_in "sandbox"|"recording"
---@field what string     # masked, cleaned, mount, unreadable, deep, layout, history, snapshot
---@field repo string
---@field paths string[]  # at most 20
---@field count integer
---@field why string
---@field text string     # one line for people
---@field fix string?

---@class sg.Diff
---@field lines integer
---@field [integer] { path: string, status: string, added: integer, removed: integer, binary: boolean?, note: string? }
local Diff = {}

---One line per file, then the sum.
---@return string
function Diff:stat() end

---A patch for `git apply`.
---@return string
function Diff:patch() end

---The hunks, as a person reads them, with three lines around each change, or fewer.
---@param o? { context: integer? }
---@return string
function Diff:text(o) end

---What has changed between two versions (an action's event: what it left); from the start to now when not said.
---@async
---@param from? sg.Snap|string|integer
---@param to? sg.Snap|string|integer
---@return sg.Diff?
---@return sg.Error? err
function Box:diff(from, to) end

---@class sg.Merged
---@field ref string? what was made in the repository
---@field taken string[] files that were merged, or were there already
---@field left string[] all other changed files: left out, ignored, refused, or not in the recording
---@field partly { path: string, take: integer[]?, left: integer[]?, of: integer }[] files of which some hunks were taken
---@field by string? who reviewed it
---@field comments { where: string, text: string, by: string }[] what was said in the review
---@field counts { merged: integer, identical: integer, left: integer, ignored: integer, hash_only: integer, conflict: integer, refused: integer } of all changed files
---@field paths table<string, (string|{ path: string, why: string })[]> by the names of counts, at most 200 each
---@field unmerged { files: integer, paths: { path: string, why: string }[] } what the box holds beyond this merge and earlier ones

---Brings the changes into a repository on the host. With review it waits until a person has looked at the changes and
---taken all or some of them; the second value says which. The branch is `sandglass/SESSION` unless `branch` names one. With
---`ignored`, files that the repository ignores are merged, too.
---@async
---@param o? { into: string?, mode: "apply"|"commits"|"branch"|"patch"|nil, branch: string?, review: boolean?, message: string?, ignored: boolean? }
---@return integer? event
---@return sg.Merged|sg.Error|nil merged or err
function Box:merge(o) end

---Stops all that runs in it, at once. What is started in it meanwhile waits until it goes on, unless it is cancelled before.
---@async
---@return true?
---@return sg.Error? err
function Box:freeze() end

---Lets it go on.
---@async
---@return true?
---@return sg.Error? err
function Box:thaw() end

---Ends all that runs in it and removes it; `<close>` does the same.
---@async
---@return true?
---@return sg.Error? err
function Box:close() end

---@class sg.Proc
---@field id integer
---@field event integer
---@field box sg.Box
local Proc = {}

---The next bytes and their stream; nil at the end.
---@async
---@return string? data
---@return "out"|"err"|sg.Error|nil
function Proc:read() end

---Lines of stdout, without their ends.
---@async
---@param o? { on_err: fun(data: string)? }
---@return fun(): string?
function Proc:lines(o) end

---To its standard input; with eof that is its end.
---@async
---@param s string
---@param o? { eof: boolean? }
---@return true?
---@return sg.Error? err
function Proc:write(s, o) end

---Sends a signal; without one it is ended.
---@async
---@param signal? string|integer
---@return true?
---@return sg.Error? err
function Proc:kill(signal) end

---Waits for its end.
---@async
---@return sg.Result?
---@return sg.Error? err
function Proc:wait() end

---Ends it if it runs; `<close>` does the same.
---@async
function Proc:close() end

---@class sg.Interpreter
---@field id integer
---@field box sg.Box
local Interpreter = {}

---Runs a piece of code as an action of its own; the value of its last expression is printed.
---@async
---@param code string
---@param o? { timeout: sg.Time?, on_out: fun(chunk: string, stream: string)? }
---@return sg.Result?
---@return sg.Error? err
function Interpreter:run(code, o) end

---Ends the interpreter.
---@async
function Interpreter:close() end

---@class sg.Shell
---@field id integer
---@field box sg.Box
local Shell = {}

---Runs a command in it and waits.
---@async
---@param cmd string
---@param o? { timeout: sg.Time?, on_out: fun(chunk: string, stream: string)? }
---@return sg.Result?
---@return sg.Error? err
function Shell:run(cmd, o) end

---Answers a program that asks.
---@async
---@param text string
---@return true?
---@return sg.Error? err
function Shell:send(text) end

---Ends it.
---@async
function Shell:close() end

---@class sg.agent
sg.agent = {}

---@class sg.Answer
---@field text string
---@field data table?      # with `output`
---@field messages table[]
---@field usage table
---@field steps integer
---@field stop "done"|"end"|"steps"|"budget"|"denied"|"stopped"|"refused"|"error"

---@class sg.AgentOpts
---@field task string
---@field model string|sg.Model?
---@field box sg.Box?          # opened for the run if a tool needs one
---@field tools (string|sg.Tool)[]?
---@field system string?
---@field budget table|sg.Budget?
---@field done (fun(): boolean, string?)?
---@field on { text: function?, call: function?, result: function?, turn: function? }?
---@field output table?        # parameters (short form or JSON Schema) of the answer
---@field history table[]?
---@field agents sg.Tool[]?
---@field name string?
---@field compact boolean|table?
---@field policy string?
---@field options table?
---@field instructions boolean?  # false: AGENTS.md, CLAUDE.md and skills of the project are left out

---Runs an agent until its task is done.
---@async
---@param o sg.AgentOpts
---@return sg.Answer?
---@return sg.Error? err
function sg.agent.run(o) end

---An agent as a tool that other agents may call.
---@param o sg.AgentOpts
---@return sg.Tool
function sg.agent.define(o) end

---The tool `task` over several defined agents; agent.run makes it from its option `agents`.
---@param agents sg.Tool[]
---@return sg.Tool
function sg.agent.task_tool(agents) end

---@class sg.Reply
---@field text string
---@field calls { id: string, name: string, args: table }[]
---@field usage table
---@field stop string

---A conversation with a model and its tools, one call at a time.
---@param o? { model: string|sg.Model|nil, system: string?, tools: (string|sg.Tool)[]?, box: sg.Box?, history: table[]?, options: table? }
---@return sg.Chat
function sg.chat(o) end

---@class sg.Chat
---@field messages table[]
---@field model sg.Model
---@field tools sg.Tool[]
local Chat = {}

---Adds a message of the user.
---@param text string
function Chat:user(text) end

---What a person said meanwhile.
---@param text string
function Chat:inject(text) end

---One model call.
---@async
---@param o? { on_text: fun(delta: string)? }
---@return sg.Reply?
---@return sg.Error? err
function Chat:send(o) end

---Runs one tool call: arguments, policy, run.
---@async
---@param call { id: string, name: string, args: table }
---@return any
---@return sg.Error? err
---@return boolean? edited
function Chat:call(call) end

---Adds what a tool call came to.
---@param call { id: string, name: string, args: table }
---@param value any
---@param err? sg.Error
---@param edited? boolean
function Chat:answer(call, value, err, edited) end

---A copy that goes on by itself.
---@return sg.Chat
function Chat:fork() end

---@class sg.Model
---@field name string
---@field provider string

---One turn of a scripted model; its file returns a list of them, or a function of the task that does.
---@class sg.Turn
---@field say (string|fun(last: { text: string, how: string }?): string)?
---@field call (table|fun(last: { text: string, how: string }?): table?)?  # { "shell", { cmd = "ls" } }, or a list of such
---@field expect string?             # pattern that the last result must hold
---@field on { allowed: table?, denied: table?, edited: table?, failed: table? }?  # turns that go on from here, by how the calls ended
---@field think sg.Time?
---@field stop string?

---"provider:name"; "scripted:demo" and "scripted:FILE.lua" need no key.
---@async
---@param spec string|sg.Model
---@param o? table
---@return sg.Model
function sg.model(spec, o) end

---@class sg.ToolOpts
---@field name string
---@field about string?
---@field params table<string, string|table>?   # "string what it is", "integer? = 10 how many", "enum(a,b)", "string[]", JSON Schema
---@field run fun(params: table, ctx: sg.ToolContext): any, sg.Error|string|nil
---@field where "box"|"host"|nil
---@field ask boolean?
---@field risk "low"|"medium"|"high"|nil
---@field timeout sg.Time?
---@field reads boolean?    # changes nothing: may run at the same time as others

---@class sg.ToolContext
---@field box sg.Box?
---@field chat sg.Chat
---@field stream fun(chunk: string, stream: string)

---@class sg.Tool
---@field name string
---@field about string
---@field schema table

---A tool that an agent may call: a function of the script.
---@param o sg.ToolOpts
---@return sg.Tool
function sg.tool(o) end

---@class sg.McpOpts
---@field name string?               # in tool names (mcp__NAME__TOOL) and rules (mcp:NAME:TOOL); alone: of `sandglass mcp add`
---@field command string[]?          # a program that speaks MCP on its standard input and output
---@field url string?                # or a server that speaks HTTP
---@field where "box"|"host"|nil     # host (default): with your rights; box: in the sandbox, with its rights
---@field box sg.Box?                # for where = "box"
---@field only string[]?             # names of tools; "read_*"
---@field env table<string, string|sg.Secret>?
---@field headers table<string, string|sg.Secret>?
---@field cwd string?
---@field timeout sg.Time?

---The tools of an MCP server, for an agent; each call of one is an action of kind mcp.
---@async
---@param o sg.McpOpts|string
---@return sg.Tool[]? tools
---@return sg.Error? err
function sg.mcp(o) end

---@class sg.Decision
---@field choice any
---@field form table?
---@field by string?
---@field text string?
---@field timeout boolean?

---Asks a person; waits, and survives a restart.
---@async
---@param o string|{ text: string, choices: string[]?, form: table?, default: any, timeout: sg.Time?, risk: string? }
---@return sg.Decision?
---@return sg.Error? err
function sg.ask(o) end

---Tells a person, who need not answer.
---@async
---@param text string
---@param o? { title: string? }
---@return true?
---@return sg.Error? err
function sg.notify(text, o) end

---@class sg.CheckResult
---@field name string
---@field result "ok"|"failed"|"warn"|"skipped"|"error"
---@field text? string
---@field at? string
---@field evidence integer[]

---The session so far against a check file, the same that `sandglass verify --with` runs later.
---@param file string beside the script
---@return boolean? ok
---@return sg.CheckResult[]|sg.Error results
function sg.check(file) end

---A line in the timeline, as of `string.format`.
---@param fmt any
---@param ... any
function sg.note(fmt, ...) end

---The same as a warning.
---@param fmt any
---@param ... any
function sg.warn(fmt, ...) end

---A named place in the timeline.
---@param label string
function sg.mark(label) end

---Shows how far the script is.
---@param done number
---@param total? number
---@param text? string
function sg.progress(done, total, text) end

---Sees such events from now on; cannot change a verdict.
---@param event "action"|"held"|"verdict"|"output"|"step"|"end"
---@param fn fun(body: table)
function sg.on(event, fn) end

---fn(item, i) for each item at the same time; results in the order of the list, nil becomes false.
---@async
---@param list table
---@param fn fun(item: any, i: integer): any, sg.Error?
---@param o? { limit: integer?, timeout: sg.Time?, on_error: "cancel"|"collect"|nil }
---@return any[]?
---@return sg.Error? err
function sg.map(list, fn, o) end

---All functions at the same time; results under the same keys.
---@async
---@param fns table<any, function>
---@param o? { limit: integer?, timeout: sg.Time?, on_error: "cancel"|"collect"|nil }
---@return table?
---@return sg.Error? err
function sg.all(fns, o) end

---The first value wins, the rest is cancelled and waited for.
---@async
---@param fns function[]
---@param o? { timeout: sg.Time? }
---@return any value
---@return integer|sg.Error|nil which
function sg.race(fns, o) end

---A task that belongs to the block of the running task.
---@param fn function
---@param ... any
---@return sg.Task
function sg.spawn(fn, ...) end

---@class sg.Task
---@field id integer
local Task = {}

---Waits for its end; gives what it returned.
---@async
---@param timeout? sg.Time
---@return any
---@return any
function Task:await(timeout) end

---Ends it: what it waits for raises an error with code "cancelled".
---@param why? string
function Task:cancel(why) end

---Has it ended?
---@return boolean
function Task:done() end

---Cancels it and waits for its end.
---@async
function Task:close() end

---Runs fn in a scope: ends when all its tasks have ended; the first failure cancels the others and is raised.
---@async
---@param fn function
---@return any
function sg.scope(fn) end

---Waits so long.
---@async
---@param s sg.Time
function sg.sleep(s) end

---fn with a limit in time: its values, or nil and an error with code "timeout".
---@async
---@param s sg.Time
---@param fn function
---@param ... any
---@return any
function sg.timeout(s, fn, ...) end

---Cleanup that may still wait while the task is being cancelled.
---@async
---@param fn function
---@param ... any
---@return any
function sg.shield(fn, ...) end

---A queue between tasks.
---@param n? integer   # so many values fit in; 0: send waits for a taker
---@return sg.Channel
function sg.channel(n) end

---@class sg.Channel
local Channel = {}

---Puts a value in; waits while it is full.
---@async
---@param v any
---@return boolean     # false: closed
function Channel:send(v) end

---Takes the next value; waits for one.
---@async
---@param timeout? sg.Time
---@return any
---@return sg.Error? err
function Channel:recv(timeout) end

---Receivers get what is left, then nil; senders get false.
function Channel:close() end

---Each value until it is closed.
---@async
---@return fun(): any
function Channel:each() end

---A limit that agents may share.
---@async
---@param o { usd: number?, tokens: integer?, time: sg.Time?, steps: integer?, actions: integer? }
---@return sg.Budget
function sg.budget(o) end

---@class sg.Budget
---@field id integer
local Budget = {}

---A part that draws from this budget.
---@async
---@param o { usd: number?, tokens: integer?, time: sg.Time?, steps: integer?, actions: integer? }
---@return sg.Budget
function Budget:part(o) end

---What is left of it.
---@async
---@return table?
---@return sg.Error? err
function Budget:left() end

---Values that are kept over restarts.
---@param name? string
---@return sg.Store
function sg.store(name) end

---@class sg.Store
---@field name string
local Store = {}

---The value of a key, or the default.
---@async
---@param k string
---@param default? any
---@return any
---@return sg.Error? err
function Store:get(k, default) end

---nil removes the key.
---@async
---@param k string
---@param value any
---@return true?
---@return sg.Error? err
function Store:set(k, value) end

---A number is added, anything else put at the end of a list.
---@async
---@param k string
---@param value any
---@return any
---@return sg.Error? err
function Store:add(k, value) end

---Keys and values in which the text stands.
---@async
---@param text string
---@return { key: string, value: any }[]?
---@return sg.Error? err
function Store:find(text) end

---All keys, sorted.
---@async
---@return string[]?
---@return sg.Error? err
function Store:keys() end

---@class sg.Secret

---A name that the host side replaces by its value on the wire; the value never comes here.
---@param name string
---@return sg.Secret
function sg.secret(name) end

---@class sg.ProxyRoute
---@field provider string?            # of models: its address, key and dialect ("anthropic", "openai", a row of the configuration)
---@field url string?                 # else where it leads; default https://NAME
---@field speak "anthropic"|"openai"|"gemini"|nil  # it is a model's API: calls are recorded, counted, gated
---@field git boolean?                # git over HTTP: a push waits for a decision, with the refs that it would move
---@field rewrite boolean?            # addresses of the routes in JSON and HTML answers become the proxy's (registries)
---@field allow string[]?             # "GET /x/*"; default: GET and HEAD
---@field header table<string, string|sg.Secret|(string|sg.Secret)[]>?
---@field basic { user: string?, password: sg.Secret }?
---@field login string?               # a login that 'sandglass login add' has named: its token is put on each request

---@class sg.ProxyOpts
---@field name string?
---@field routes table<string, sg.ProxyRoute>
---@field tool_gate boolean?          # default true: calls in answers are judged before the agent sees them
---@field budget { usd: number?, tokens: integer?, calls: integer? }?
---@field prompt_host string?         # file whose text is put before the system prompt, outside of the box

---@class sg.Proxy
---@field url string                  # as the box sees it; routes are below it, by name
---@field urls table<string, string>
---@field key string                  # what stands for the key in the box; worth nothing outside
local Proxy = {}

---What went through it: calls, tokens, money, what was refused.
---@async
---@return { calls: integer, ["in"]: integer, out: integer, uusd: integer, usd: number, refused: integer }?
---@return sg.Error? err
function Proxy:used() end

---For <close>; what boxes have of it goes with them.
function Proxy:close() end

---The way of boxes to models, repositories and registries; credentials are put on outside, by name.
---@async
---@param o sg.ProxyOpts
---@return sg.Proxy
function sg.proxy(o) end

---@class sg.InsideOpts
---@field agent "claude"|"codex"|"opencode"|"gemini"|"pi"|"deepagents"|"amp"|"cursor"|"copilot"|"custom"|string   # or FILE.lua: a profile of your own
---@field task string?                # needed without terminal
---@field terminal { cols: integer?, rows: integer?, xpixel: integer?, ypixel: integer?, env: table<string, string>?, args: string[]?, record_input: "off"|"counts"|"full"|nil }?  # use its own interface, in a terminal that clients attach to; args are its own
---@field login { name: string, plan: string?, tier: string? }?  # with terminal: a login that 'sandglass login add' has named
---@field name string?
---@field model string?               # provider:name; default: that of the agent's profile
---@field program string?             # where it lies in the box; default: found on its PATH
---@field command string[]?           # of a custom one; the task is added
---@field path string?                # more folders of programs, with ":" between them
---@field roots string[]?             # read-only folders of this machine that it needs
---@field trace "exec"|false?          # as of a sandbox; "exec" unless said otherwise
---@field hold_exec string|string[]?
---@field honeytokens (boolean|("aws"|"npm"|"github"|"env")[])?
---@field repo string|table<string,string>?
---@field env table<string,string>?
---@field net string[]?
---@field limits table?
---@field budget { usd: number?, tokens: integer?, time: sg.Time?, actions: integer? }?
---@field timeout sg.Time?
---@field tool_gate boolean?
---@field prompt_host string?
---@field keep boolean?
---@field accept string?
---@field backend string?
---@field options table?              # of that backend, as of a sandbox: { host = "there" } with ssh
---@field on_event? fun(ev: table)    # what it prints, one JSON object at a time
---@field control "acp"|"stream"|"app-server"|"rpc"|"serve"|"sandbox-agent"|"print"|nil   # how it is spoken with; default: the best that it has. What it asks to be allowed is the agent's word: programs in its box can answer a server ("serve", "sandbox-agent") in our place
---@field mode string?                # the agent's own mode: of permissions, of approvals
---@field start sg.Time?              # it must be there within; default: two to three minutes
---@field linger sg.Time?             # after its task it waits so long for words of people
---@field idle sg.Time?               # of lingering: after so long without any it sleeps, until there are some; default: 60 s
---@field beside string?              # another program that this one starts
---@field port integer?               # of one that is a server: where it listens in the box; default: any
---@field token string?               # and what it wants to be told; default: made up
---@field serves string?              # of a custom one over sandbox-agent: its name of the agent, "claude" unless said otherwise

---Somebody else's agent in a box of its own; its model is reached through a proxy that has the key.
---@async
---@param o sg.InsideOpts
---@return { ok: boolean, code: integer?, text: string, error: string?, stop: string?, box: sg.Box, usage: table, settings: string[], settings_patch: string?, session: string?, turns: integer, control: string }?
---@return sg.Error? err
function sg.inside(o) end

---@class sg.host
sg.host = {}

---Pushes with the user's own git on the host side. Always asks.
---@async
---@param o { box: sg.Box, remote: string?, branch: string?, ref: string?, force: boolean? }
---@return table?
---@return sg.Error? err
function sg.host.push(o) end

---Runs a program on the host: the first word, as it stands (variables go into `env`). The policy decides; without a rule it asks.
---@async
---@param argv string[]
---@param o? { cwd: string?, env: table<string,string|sg.Secret>?, stdin: string|sg.Secret?, timeout: sg.Time? }
---@return sg.Result?
---@return sg.Error? err
function sg.host.exec(argv, o) end

---@class sg.Page
---@field status integer
---@field ok boolean            # status below 400
---@field url string            # where it led in the end
---@field type string?          # "text/html"
---@field title string?
---@field text string?          # as a person would read it
---@field data string?          # the bytes, with raw
---@field bytes integer         # of the answer
---@field cut boolean           # there was more
---@field unseen integer?       # hidden characters and elements that were left out
---@field event integer

---Fetches a page on the host side; every request, also after a redirect, is an action of kind "fetch". Taints the agent.
---@async
---@param o string|{ url: string, method: string?, headers: table<string,string|sg.Secret>?, body: string?, raw: boolean?, max: string|integer?, timeout: sg.Time? }
---@return sg.Page?
---@return sg.Error? err
function sg.host.fetch(o) end

---Asks the search service of the configuration (search.url). Taints the agent.
---@async
---@param o string|{ query: string, count: integer?, page: integer?, timeout: sg.Time? }
---@return { title: string, url: string, text: string }[]?
---@return sg.Error? err
function sg.host.search(o) end

---Ends the script with this status; blocks are left and their <close> values closed.
---@param code? integer
---@param fmt? any
---@param ... any
function sg.exit(code, fmt, ...) end

---Is it an error of the library (a table with `code`)?
---@param v any
---@return boolean
function sg.is_error(v) end

---The last n lines.
---@param s string
---@param n? integer
---@return string
function sg.tail(s, n) end

---One word for sh, whatever is in it.
---@param s string
---@return string
function sg.quote(s) end

---@class sg.json
---@field null any
sg.json = {}

---The text of a value.
---@param v any
---@param o? { pretty: boolean? }
---@return string
function sg.json.encode(v, o) end

---The value of a text.
---@param text string
---@return any
---@return sg.Error? err
function sg.json.decode(text) end

---"message.content[0].text"; nil where something is missing.
---@param v any
---@param path string
---@return any
function sg.json.path(v, path) end

---Marks a table as a list, so that an empty one becomes [].
---@param t? table
---@return table
function sg.json.list(t) end

return sg
