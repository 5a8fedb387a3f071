---@meta sandglass

---An expected failure: calls return `nil, err`. `tostring(err)` gives one line; programs test `err.code`.
---@class sg.Error
---@field code "exit"|"timeout"|"denied"|"cancelled"|"budget"|"limit"|"net"|"model"|"backend"|"io"|"diverged"|"interrupted"|"lost"|"script"
---@field msg string
---@field why string?      # the reviewer's or the rule's text
---@field rule string?     # name of the rule that denied
---@field hint string?     # one thing to do; tostring() includes it
---@field event integer?   # number of the event that shows it
---@field exit integer     # exit status for sg.exit
---@field cause any
---@field at string?       # "fix.lua:12"
---@field trace string?
---@field answer sg.Answer? # agent.run: the answer up to the end
---@field result sg.Result? # of a stopped command: its output until then

---@alias sg.Time number|string  # seconds or "500ms" "30s" "5m" "2h" "1d"

---@alias sg.Size number|string  # bytes or "512M" "1G"

---The result of a command. A non-zero exit status is data, not an error.
---@class sg.Result
---@field ok boolean
---@field code integer?
---@field signal string?
---@field refused { host: string, port: integer, why: string }[]?  connections of the sandbox that were refused or cut while the command ran, at most 20
---@field refused_more integer?  # number of other refused connections
---@field oom integer?      # processes of the sandbox that its memory limit killed meanwhile
---@field why string?       # why all in the sandbox was killed, and this with it
---@field out string
---@field err string
---@field ms integer
---@field cut boolean      # `out` or `err` holds only the first and last 32 KiB; the recording has all
---@field event integer
---@field out_bytes integer
---@field err_bytes integer
---@field edited boolean?  # a reviewer changed the command before it ran
---@field ran string?      # the command that ran instead
---@field shell_ended boolean? # shell:run: the shell ended with this status

---@class sg.ExecOpts
---@field timeout sg.Time?
---@field cwd string?
---@field env table<string,string>?
---@field stdin string?
---@field on_out fun(chunk: string, stream: "out"|"err")?  # whole characters, in order
---@field net "none"|string[]?
---@field user string?
---@field label string?
---@field parallel boolean?       # don't wait for other writing commands of the sandbox
---@field on_interrupted "error"? # after a supervisor crash, a resumed session fails this call with code "interrupted". Default: it runs the command again

---@class sg
---@field args table   # named arguments of the command line: `sg.args.name`
---@field env table    # settings of this run: model, backend, ...
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
---@field key string?       # file that holds the private key
---@field config string?    # instead of ~/.ssh/config
---@field kernel string?    # backend vm: kernel file; with `modules` (directory) and `accel` ("kvm", "tcg")
---@field modules string?
---@field accel "kvm"|"tcg"?
---@field package string?   # backend pyodide: directory of the npm package; with `node` (program)
---@field node string?
---@field dir string?       # directory for sandboxes on that machine
---@field image (string|{dir:string})? # image name of the container engine, or a root file system on the host (container; vm: a directory)
---@field build (string|table)? # a Dockerfile, its directory, or {dir=, file=, args=, net=} (container)
---@field repo string|table<string,string>?
---@field repos table<string,string>?  # { api = "../api" }: each at /workspace/NAME
---@field copy boolean?
---@field net "none"|string[]|{ only: sg.Proxy }|nil  # hosts that the sandbox may reach, as "host:port"
---@field proxies sg.Proxy[]?          # services that it reaches with credentials of the host
---@field limits { mem: sg.Size?, cpus: number?, pids: integer?, disk: sg.Size?, files: integer?, time: sg.Time?, gpu: integer? }?
---@field env table<string,string>?
---@field keep boolean?
---@field roots string[]?   # read-only directories of the host (programs outside /usr)
---@field trace "exec"|false?  # records every program and connection that the kernel sees, below the command that caused it. It observes; it doesn't isolate
---@field hold_exec string|string[]?  # argument patterns ("git push *"): a process about to execute such a program waits for your approval. If you deny it, execve fails with EPERM
---@field expose string[]?  # masked paths that the sandbox may see
---@field mask { history: boolean? }?  # history: refuses to open if git tracks a masked file, so that its objects hold it
---@field accept string?    # "reduced": continue with less isolation than requested
---@field options table?    # options of the backend
---@field honeytokens (boolean|("aws"|"npm"|"github"|"env")[])?  # plants fake credentials; the event honeytoken.seen reports one found in output, a request, a message, or a file
---@field on_lost string?   # "restore": after the sandbox dies, calls fail once with code "lost", then the handle uses a new sandbox with the last snapshot's files. Default: "error"

---Opens a sandbox. Raises an error if that fails.
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

---Runs a command and waits for it. A non-zero exit status is not an error; see `Box:run`.
---@async
---@param cmd string|string[]   # string: run by `sh -c`; list: exactly these arguments, without a shell
---@param o? sg.ExecOpts
---@return sg.Result? result
---@return sg.Error? err
---@nodiscard
function Box:exec(cmd, o) end

---Runs several commands in order as one action: one approval, one round trip, one snapshot. Each command runs in its own
---shell. `stop = true` stops at the first failure.
---@async
---@param list string[]
---@param o? sg.ExecOpts
---@return sg.Result[]? results   # results of the commands that ran; `event` is the batch's event
---@return sg.Error? err
---@nodiscard
function Box:batch(list, o) end

---Runs a command like `Box:exec`, but returns an error with code "exit" for a non-zero exit status.
---@async
---@param cmd string|string[]
---@param o? sg.ExecOpts
---@return sg.Result? result
---@return sg.Error? err
function Box:run(cmd, o) end

---Starts a command without waiting for it.
---@async
---@param cmd string|string[]
---@param o? sg.ExecOpts
---@return sg.Proc?
---@return sg.Error? err
function Box:spawn(cmd, o) end

---Connects to a server on the sandbox's loopback. `read`, `lines`, `write` and `wait` work as for a process; `kill` closes it.
---@async
---@param port integer
---@param o? { wait: sg.Time? }       # wait: how long to retry, for a server that is still starting
---@return sg.Proc?
---@return sg.Error? err
function Box:dial(port, o) end

---Opens a shell that keeps its directory, variables, and jobs between commands.
---@async
---@param o? { cwd: string?, env: table<string,string>? }
---@return sg.Shell?
---@return sg.Error? err
function Box:shell(o) end

---Opens a Python or Node interpreter that keeps its variables between calls.
---@async
---@param language? "python"|"node" (default "python")
---@param o? { cwd: string? }
---@return sg.Interpreter?
---@return sg.Error? err
function Box:interpreter(language, o) end

---Reads a file, or a part of it. `from` and `len` are in bytes.
---@async
---@param path string
---@param o? { from: integer?, len: integer? }
---@return string? data
---@return sg.Error? err
function Box:read(path, o) end

---Writes a whole file and creates missing directories.
---@async
---@param path string
---@param data string
---@return integer? event
---@return sg.Error? err
function Box:write(path, data) end

---Replaces text that occurs exactly once. With `all`, replaces every occurrence.
---@async
---@param path string
---@param old string
---@param new string
---@param o? { all: boolean? }
---@return integer? event
---@return sg.Error? err
function Box:edit(path, old, new, o) end

---Lists the paths that match a pattern such as "src/**/*.c".
---@async
---@param pattern string
---@return string[]? paths
---@return sg.Error? err
function Box:glob(pattern) end

---Returns a host address ("http://127.0.0.1:PORT") that forwards to a port on the sandbox's loopback until the sandbox
---closes. Only you and root can connect, and not while the sandbox is paused or frozen. This is an action of kind "port",
---checked against policy. After a resume, call it again: earlier addresses no longer work.
---@async
---@param port integer
---@return string? url
---@return sg.Error? err
function Box:url(port) end

---Copies a host file into the sandbox with its mode (never set-uid, never world-writable). Checked against policy.
---@async
---@param host string
---@param path string
---@return integer? event
---@return sg.Error? err
function Box:put(host, path) end

---Copies a file from the sandbox to the host, with the mode rules of `put`. Checked against policy.
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

---Records the current files under a label that `rollback` and `diff` accept.
---@async
---@param label? string
---@return sg.Snap?
---@return sg.Error? err
function Box:snapshot(label) end

---Restores the files of a snapshot, a label, or an event (for an action: the files after it). Doesn't affect processes.
---@async
---@param to sg.Snap|string|integer
---@return integer? event
---@return sg.Error? err
function Box:rollback(to) end

---Opens another sandbox with the current files, or with the files at `at`.
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
---@field text string     # one line for users
---@field fix string?

---@class sg.Diff
---@field lines integer
---@field [integer] { path: string, status: string, added: integer, removed: integer, binary: boolean?, note: string? }
local Diff = {}

---Returns one line per file, then the total.
---@return string
function Diff:stat() end

---Returns a patch for `git apply`.
---@return string
function Diff:patch() end

---Returns readable hunks with `context` lines around each change (default and most: 3).
---@param o? { context: integer? }
---@return string
function Diff:text(o) end

---Compares two versions (default: the start and now). An action's event means the files after it.
---@async
---@param from? sg.Snap|string|integer
---@param to? sg.Snap|string|integer
---@return sg.Diff?
---@return sg.Error? err
function Box:diff(from, to) end

---@class sg.Merged
---@field ref string?# the branch or reference that was created
---@field taken string[]# files that were merged, or were already identical
---@field left string[]# all other changed files: left out, ignored, refused, or not in the recording
---@field partly { path: string, take: integer[]?, left: integer[]?, of: integer }[]# files with some accepted hunks
---@field by string?# the reviewer
---@field comments { where: string, text: string, by: string }[]# comments of the review
---@field counts { merged: integer, identical: integer, left: integer, ignored: integer, hash_only: integer, conflict: integer, refused: integer } of all changed files
---@field paths table<string, (string|{ path: string, why: string })[]> by the names of counts, at most 200 each
---@field unmerged { files: integer, paths: { path: string, why: string }[] }# changes in the sandbox beyond this merge and earlier ones
---@field notices sg.Notice[]# what the sandbox or its recording lacks, as in `box:notices()`
---@field branches { name: string, ref: string, commits: integer }[]# branches and stashes of the sandbox, and yours for them
---@field branches_left { name: string, commits: integer, why: string? }[]# those that are not merged

---Merges the changes into a repository on the host. With `review`, waits until you have reviewed the changes; the second
---value lists the accepted ones. The branch is `sandglass/SESSION` unless `branch` names one. With `ignored`, also merges
---files that the repository ignores.
---@async
---@param o? { into: string?, mode: "apply"|"commits"|"branch"|"patch"|nil, branch: string?, review: boolean?, message: string?, ignored: boolean? }
---@return integer? event
---@return sg.Merged|sg.Error|nil merged or err
function Box:merge(o) end

---@class sg.MergeOpts
---@field boxes sg.Box[]            # two sandboxes or more of this script, also closed ones
---@field into string?              # a directory instead of those the sandboxes were opened on
---@field mode "branch"|"commits"|"apply"|nil # Default: "branch"
---@field branch string?            # Default: `sandglass/SESSION`
---@field take (string|string[])?   # "SANDBOX:FILE": of files in conflict, takes the version of that sandbox
---@field leave (string|string[])?  # patterns of files that stay out of the merge
---@field message string?           # of one commit for each sandbox
---@field review boolean?           # requires your approval even if a policy allows the merge

---@class sg.Between
---@field path string
---@field why string?
---@field boxes { name: string, path: string, how: string }[]

---@class sg.MergedBoxes
---@field boxes sg.MergedBox[]      # in the order of `boxes`
---@field ref string?               # the branch that all of them were merged to
---@field group string              # id of the step; the events of all sandboxes have it
---@field between sg.Between[]      # conflicts between the sandboxes: none after a merge
---@field both sg.Between[]         # files of several sandboxes that were merged by lines
---@field by string?                # the reviewer
---@field comments { where: string, text: string, by: string }[]

---@class sg.MergedBox: sg.Merged
---@field name string               # of the sandbox
---@field event integer             # its merge.done

---Merges several sandboxes in one step: all of them or none. The step is one action for policy and approval, and one undo
---takes it back. If two sandboxes changed a file in ways that don't merge by lines, the error names the file and nothing is
---written; decide with `take` or `leave`.
---@async
---@param o sg.MergeOpts
---@return integer? event
---@return sg.MergedBoxes|sg.Error|nil merged or err
function sg.merge(o) end

---Freezes all processes of the sandbox. Commands started meanwhile wait for `thaw`, unless they are canceled.
---@async
---@return true?
---@return sg.Error? err
function Box:freeze() end

---Lets the processes of the sandbox continue.
---@async
---@return true?
---@return sg.Error? err
function Box:thaw() end

---Ends all processes and removes the sandbox; `<close>` does the same.
---@async
---@return true?
---@return sg.Error? err
function Box:close() end

---@class sg.Proc
---@field id integer
---@field event integer
---@field box sg.Box
local Proc = {}

---Returns the next bytes and their stream, or nil at the end.
---@async
---@return string? data
---@return "out"|"err"|sg.Error|nil
function Proc:read() end

---Iterates over the lines of stdout, without line ends.
---@async
---@param o? { on_err: fun(data: string)? }
---@return fun(): string?
function Proc:lines(o) end

---Writes to standard input. `eof` closes it afterwards.
---@async
---@param s string
---@param o? { eof: boolean? }
---@return true?
---@return sg.Error? err
function Proc:write(s, o) end

---Sends a signal (default: ends the process).
---@async
---@param signal? string|integer
---@return true?
---@return sg.Error? err
function Proc:kill(signal) end

---Waits until it ends.
---@async
---@return sg.Result?
---@return sg.Error? err
function Proc:wait() end

---Ends the process if it still runs; `<close>` does the same.
---@async
function Proc:close() end

---@class sg.Interpreter
---@field id integer
---@field box sg.Box
local Interpreter = {}

---Runs code as one action and prints the value of its last expression. `env` holds for this code alone. With
---`structured` the result has `value`, or `error`, `name`, and `traceback`, which are not in its output.
---@async
---@param code string
---@param o? { timeout: sg.Time?, env: table<string, string>?, structured: boolean?, on_out: fun(chunk: string, stream: string)? }
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

---Runs a command in the shell and waits for it.
---@async
---@param cmd string
---@param o? { timeout: sg.Time?, on_out: fun(chunk: string, stream: string)? }
---@return sg.Result?
---@return sg.Error? err
function Shell:run(cmd, o) end

---Sends text to a program that waits for input.
---@async
---@param text string
---@return true?
---@return sg.Error? err
function Shell:send(text) end

---Ends the shell.
---@async
function Shell:close() end

---@class sg.agent
sg.agent = {}

---@class sg.Answer
---@field text string
---@field data table?      # only with `output`
---@field messages table[]
---@field usage table
---@field steps integer
---@field stop "done"|"end"|"steps"|"budget"|"denied"|"stopped"|"refused"|"error"

---@class sg.AgentOpts
---@field task string
---@field model string|sg.Model?
---@field box sg.Box?          # default: opened for the run if a tool needs one
---@field tools (string|sg.Tool)[]?
---@field system string?
---@field budget table|sg.Budget?
---@field done (fun(): boolean, string?)?
---@field on { text: function?, call: function?, result: function?, turn: function? }?
---@field output table?        # schema of the answer (short form or JSON Schema)
---@field history table[]?
---@field agents sg.Tool[]?
---@field name string?
---@field compact boolean|table?
---@field options table?
---@field instructions boolean?  # false: ignore the project's AGENTS.md, CLAUDE.md, and skills

---Runs an agent until its task is done.
---@async
---@param o sg.AgentOpts
---@return sg.Answer?
---@return sg.Error? err
function sg.agent.run(o) end

---Makes an agent a tool that other agents can call.
---@param o sg.AgentOpts
---@return sg.Tool
function sg.agent.define(o) end

---Makes the tool `task`, which runs one of several defined agents. The option `agents` of agent.run uses it.
---@param agents sg.Tool[]
---@return sg.Tool
function sg.agent.task_tool(agents) end

---@class sg.Reply
---@field text string
---@field calls { id: string, name: string, args: table }[]
---@field usage table
---@field stop string

---Starts a conversation with a model and its tools, one call at a time.
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

---Adds a message that a user sent meanwhile.
---@param text string
function Chat:inject(text) end

---Makes one model call.
---@async
---@param o? { on_text: fun(delta: string)? }
---@return sg.Reply?
---@return sg.Error? err
function Chat:send(o) end

---Runs one tool call: checks its arguments, checks policy, runs it.
---@async
---@param call { id: string, name: string, args: table }
---@return any
---@return sg.Error? err
---@return boolean? edited
function Chat:call(call) end

---Adds the result of a tool call.
---@param call { id: string, name: string, args: table }
---@param value any
---@param err? sg.Error
---@param edited? boolean
function Chat:answer(call, value, err, edited) end

---Copies the conversation; both continue independently.
---@return sg.Chat
function Chat:fork() end

---@class sg.Model
---@field name string
---@field provider string

---One turn of a scripted model. Its file returns a list of turns, or a function of the task that returns one.
---@class sg.Turn
---@field say (string|fun(last: { text: string, how: string }?): string)?
---@field call (table|fun(last: { text: string, how: string }?): table?)?  # { "shell", { cmd = "ls" } }, or a list of such
---@field expect string?             # pattern that the last result must match
---@field on { allowed: table?, denied: table?, edited: table?, failed: table? }?  # the turns that follow, by how the calls ended
---@field think sg.Time?
---@field stop string?

---Returns the model "provider:name". "scripted:demo" and "scripted:FILE.lua" need no key.
---@async
---@param spec string|sg.Model
---@param o? table
---@return sg.Model
function sg.model(spec, o) end

---@class sg.ToolOpts
---@field name string
---@field about string?     # the model reads it
---@field params table<string, string|table>?   # name = "string the file", "integer? = 10", "enum(a,b)", "string[]", or a JSON Schema
---@field run fun(params: table, ctx: sg.ToolContext): any, sg.Error|string|nil   # the result, or nil and the error
---@field where "box"|"host"|nil   # "host": the call leaves the sandbox, so it requires approval
---@field ask boolean?       # every call requires approval
---@field risk "low"|"medium"|"high"|nil   # shown with the approval
---@field timeout sg.Time?
---@field reads boolean?     # changes nothing, so calls may run in parallel

---@class sg.ToolContext
---@field box sg.Box?
---@field chat sg.Chat
---@field stream fun(chunk: string, stream: string)

---@class sg.Tool
---@field name string
---@field about string
---@field schema table

---Makes a function of the script a tool that an agent can call. Its result is a string, a table (as JSON), or
---{ text = string, media = { { mime = "image/png", data = base64 } } } for images and PDF files. Models that don't
---take them get a line for each. `options = { images = false }` of a model leaves all of them out; `true` sends
---them to a local server.
---@param o sg.ToolOpts
---@return sg.Tool
function sg.tool(o) end

---@class sg.McpOpts
---@field name string?               # in tool names (mcp__NAME__TOOL) and rules (mcp:NAME:TOOL); alone: of `sandglass mcp add`
---@field command string[]?          # program that speaks MCP on stdin and stdout
---@field url string?                # or: an MCP server over HTTP
---@field where "box"|"host"|nil     # host (default): runs with your rights; box: runs in the sandbox
---@field box sg.Box?                # for where = "box"
---@field only string[]?             # tool names or patterns, such as "read_*"
---@field env table<string, string|sg.Secret>?
---@field headers table<string, string|sg.Secret>?
---@field cwd string?
---@field timeout sg.Time?

---Returns the tools of an MCP server for an agent. Each call is an action of kind mcp. A server with resources gets
---the tool read_resource as well (rule: mcp:NAME:resources/read; in `only`: "resources/read").
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

---Asks you a question and waits for the answer, also across a restart.
---@async
---@param o string|{ text: string, choices: string[]?, form: table?, default: any, timeout: sg.Time?, risk: string? }
---@return sg.Decision?
---@return sg.Error? err
function sg.ask(o) end

---Shows you a message that needs no answer.
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

---Runs a check file against the session so far. `sandglass verify --with` runs the same file later.
---@param file string beside the script
---@return boolean? ok
---@return sg.CheckResult[]|sg.Error results
function sg.check(file) end

---Adds a line to the timeline, formatted like `string.format`.
---@param fmt any
---@param ... any
function sg.note(fmt, ...) end

---Adds a warning to the timeline, formatted like `string.format`.
---@param fmt any
---@param ... any
function sg.warn(fmt, ...) end

---Sets labels of the session: a string is the value, `true` sets a label without a value, `false` removes it.
---Commands over many sessions choose by them: `sandglass ls --label team=core`.
---@async
---@param labels table<string, string|boolean>
---@return true?
---@return sg.Error? err
function sg.label(labels) end

---Sets a bookmark in the timeline.
---@param label string
function sg.mark(label) end

---Shows the progress of the script.
---@param done number
---@param total? number
---@param text? string
function sg.progress(done, total, text) end

---Calls `fn` for each later event of this kind. It can't change a verdict.
---@param event "action"|"held"|"verdict"|"output"|"step"|"end"
---@param fn fun(body: table)
function sg.on(event, fn) end

---Runs `fn(item, i)` for all items in parallel. Returns the results in the order of the list, nil as false.
---@async
---@param list table
---@param fn fun(item: any, i: integer): any, sg.Error?
---@param o? { limit: integer?, timeout: sg.Time?, on_error: "cancel"|"collect"|nil }
---@return any[]?
---@return sg.Error? err
function sg.map(list, fn, o) end

---Runs all functions in parallel. Returns the results under the same keys.
---@async
---@param fns table<any, function>
---@param o? { limit: integer?, timeout: sg.Time?, on_error: "cancel"|"collect"|nil }
---@return table?
---@return sg.Error? err
function sg.all(fns, o) end

---Runs all functions in parallel. Returns the first value; cancels the others and waits for their end.
---@async
---@param fns function[]
---@param o? { timeout: sg.Time? }
---@return any value
---@return integer|sg.Error|nil which
function sg.race(fns, o) end

---Starts a task that belongs to the current scope.
---@param fn function
---@param ... any
---@return sg.Task
function sg.spawn(fn, ...) end

---@class sg.Task
---@field id integer
local Task = {}

---Waits until the task ends and returns its values.
---@async
---@param timeout? sg.Time
---@return any
---@return any
function Task:await(timeout) end

---Cancels the task: the call that it waits for raises an error with code "cancelled".
---@param why? string
function Task:cancel(why) end

---Returns true if the task has ended.
---@return boolean
function Task:done() end

---Cancels the task and waits until it ends.
---@async
function Task:close() end

---Runs `fn` in a scope, which ends when all its tasks have ended. The first failure cancels the others and is raised.
---@async
---@param fn function
---@return any
function sg.scope(fn) end

---Suspends the current task for `s` seconds.
---@async
---@param s sg.Time
function sg.sleep(s) end

---Runs `fn` with a time limit. Returns its values, or nil and an error with code "timeout".
---@async
---@param s sg.Time
---@param fn function
---@param ... any
---@return any
function sg.timeout(s, fn, ...) end

---Runs cleanup code that may still wait while the task is being canceled.
---@async
---@param fn function
---@param ... any
---@return any
function sg.shield(fn, ...) end

---Makes a queue between tasks.
---@param n? integer   # capacity; 0: `send` waits for a receiver
---@return sg.Channel
function sg.channel(n) end

---@class sg.Channel
local Channel = {}

---Adds a value. Waits while the channel is full.
---@async
---@param v any
---@return boolean     # false: closed
function Channel:send(v) end

---Takes the next value. Waits for one.
---@async
---@param timeout? sg.Time
---@return any
---@return sg.Error? err
function Channel:recv(timeout) end

---Closes the channel: receivers get the remaining values, then nil; senders get false.
function Channel:close() end

---Iterates over the values until the channel is closed.
---@async
---@return fun(): any
function Channel:each() end

---Makes a limit that agents can share.
---@async
---@param o { usd: number?, tokens: integer?, time: sg.Time?, steps: integer?, actions: integer? }
---@return sg.Budget
function sg.budget(o) end

---@class sg.Budget
---@field id integer
local Budget = {}

---Makes a smaller budget that also counts against this one.
---@async
---@param o { usd: number?, tokens: integer?, time: sg.Time?, steps: integer?, actions: integer? }
---@return sg.Budget
function Budget:part(o) end

---Returns the remaining amounts.
---@async
---@return table?
---@return sg.Error? err
function Budget:left() end

---Opens a key-value store that survives restarts.
---@param name? string
---@return sg.Store
function sg.store(name) end

---@class sg.Store
---@field name string
local Store = {}

---Returns the value of a key, or the default.
---@async
---@param k string
---@param default? any
---@return any
---@return sg.Error? err
function Store:get(k, default) end

---Sets a key. nil removes it.
---@async
---@param k string
---@param value any
---@return true?
---@return sg.Error? err
function Store:set(k, value) end

---Adds a number to the value, or appends any other value to a list.
---@async
---@param k string
---@param value any
---@return any
---@return sg.Error? err
function Store:add(k, value) end

---Finds the entries whose key or value contains the text.
---@async
---@param text string
---@return { key: string, value: any }[]?
---@return sg.Error? err
function Store:find(text) end

---Returns all keys, sorted.
---@async
---@return string[]?
---@return sg.Error? err
function Store:keys() end

---@class sg.Secret

---Returns a placeholder for a secret. The host replaces it with the value on the wire; scripts never see the value.
---@param name string
---@return sg.Secret
function sg.secret(name) end

---@class sg.ProxyRoute
---@field provider string?            # a model provider: its address, key, and dialect ("anthropic", "openai", a row of the configuration)
---@field url string?                 # or: the address of the service (default: https://NAME)
---@field speak "anthropic"|"openai"|"gemini"|nil  # dialect of a model API: records, counts, and checks its calls
---@field git boolean?                # git over HTTP: a push waits for your approval, which shows the refs
---@field rewrite boolean?            # replaces route addresses in JSON and HTML answers with the proxy's (registries)
---@field allow string[]?             # "GET /x/*"; default: GET and HEAD
---@field header table<string, string|sg.Secret|(string|sg.Secret)[]>?
---@field basic { user: string?, password: sg.Secret }?
---@field login string?               # a login named by 'sandglass login add': sends its token with each request
---@field tls boolean?                # the route's name is a host: TLS for https://NAME through this proxy ends here

---@class sg.ProxyOpts
---@field name string?
---@field routes table<string, sg.ProxyRoute>
---@field tool_gate boolean?          # default true: checks tool calls in answers before the agent sees them
---@field budget { usd: number?, tokens: integer?, calls: integer? }?
---@field prompt_host string?         # file whose text is added before the system prompt, outside the sandbox

---@class sg.Proxy
---@field url string                  # the proxy's address in the sandbox; each route is a path below it
---@field urls table<string, string>
---@field key string                  # placeholder for the key in the sandbox; worthless outside
local Proxy = {}

---Returns totals: calls, tokens, cost, and refused calls.
---@async
---@return { calls: integer, ["in"]: integer, out: integer, uusd: integer, usd: number, refused: integer }?
---@return sg.Error? err
function Proxy:used() end

---Does nothing; for `<close>`. A sandbox's use of the proxy ends with the sandbox.
function Proxy:close() end

---Makes a proxy through which sandboxes reach models, repositories, and registries. The host adds the credentials.
---@async
---@param o sg.ProxyOpts
---@return sg.Proxy
function sg.proxy(o) end

---@class sg.InsideOpts
---@field agent "claude"|"codex"|"opencode"|"gemini"|"pi"|"deepagents"|"amp"|"cursor"|"copilot"|"custom"|string   # or FILE.lua: your own profile
---@field task string?                # required without `terminal`
---@field terminal { cols: integer?, rows: integer?, xpixel: integer?, ypixel: integer?, env: table<string, string>?, args: string[]?, record_input: "off"|"counts"|"full"|nil }?  # use the agent's own interface in a terminal that clients attach to; `args` are the agent's
---@field login { name: string, plan: string?, tier: string?, account: string?, account_id: string?, url: string? }?  # with `terminal`: a login named by 'sandglass login add'
---@field name string?
---@field model string?               # provider:name (default: from the agent's profile)
---@field program string?             # path in the sandbox (default: found on its PATH)
---@field command string[]?           # of a custom agent; the task is appended
---@field path string?                # more program directories, separated by ":"
---@field roots string[]?             # read-only host directories that the agent needs
---@field trace "exec"|false?          # as for sg.sandbox (default: "exec")
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
---@field options table?              # options of the backend, as for sg.sandbox: { host = "there" } with ssh
---@field image (string|{dir:string})? # these and the next five as for sg.sandbox. With an image, the program and its PATH are the image's
---@field build (string|table)?
---@field copy boolean?
---@field user string?
---@field expose string[]?
---@field mask { history: boolean? }?
---@field proxies sg.Proxy[]?          # more services that it reaches with credentials of the host
---@field kept string?                # where it keeps its sessions, below its home (default: its profile's place, else all of its home). Forks get a copy
---@field on_event? fun(ev: table)    # receives each JSON object that the agent prints
---@field control "acp"|"acp-v2"|"stream"|"app-server"|"rpc"|"serve"|"sandbox-agent"|"print"|nil   # the protocol (default: the best that the agent has; "acp-v2", version 2, is a draft). A permission request is the agent's claim: programs in its sandbox can answer a server ("serve", "sandbox-agent") in our place
---@field mode string?                # the agent's own permission or approval mode
---@field start sg.Time?              # time limit for its start (default: two to three minutes)
---@field linger sg.Time?             # how long it waits for your messages after its task
---@field idle sg.Time?               # how long it waits before it sleeps until your next message (default: 60 s)
---@field beside string?              # another program that the agent starts
---@field port integer?               # of a server: its port in the sandbox (default: any)
---@field token string?               # the server's access token (default: random)
---@field serves string?              # of a custom agent over sandbox-agent: the agent's name there (default: "claude")

---Runs a third-party agent in its own sandbox. It reaches its model through a proxy that holds the key.
---@async
---@param o sg.InsideOpts
---@return { ok: boolean, code: integer?, text: string, error: string?, stop: string?, box: sg.Box, usage: table, settings: string[], settings_patch: string?, session: string?, turns: integer, control: string }?
---@return sg.Error? err
function sg.inside(o) end

---@class sg.host
sg.host = {}

---Pushes with your own git on the host. Always requires approval.
---@async
---@param o { box: sg.Box, remote: string?, branch: string?, ref: string?, force: boolean? }
---@return table?
---@return sg.Error? err
function sg.host.push(o) end

---Runs a program on the host: `argv[1]`, without a shell (variables go into `env`). Without a matching rule it requires approval.
---@async
---@param argv string[]
---@param o? { cwd: string?, env: table<string,string|sg.Secret>?, stdin: string|sg.Secret?, timeout: sg.Time? }
---@return sg.Result?
---@return sg.Error? err
function sg.host.exec(argv, o) end

---@class sg.Page
---@field status integer
---@field ok boolean            # status below 400
---@field url string            # after redirects
---@field type string?          # "text/html"
---@field title string?
---@field text string?          # readable text of the page
---@field data string?          # with `raw`: the bytes
---@field bytes integer         # bytes of the answer
---@field cut boolean           # the page was longer
---@field unseen integer?       # number of hidden characters and elements that were removed
---@field event integer

---Fetches a page from the host. Every request, also a redirect, is an action of kind "fetch". Taints the agent.
---@async
---@param o string|{ url: string, method: string?, headers: table<string,string|sg.Secret>?, body: string?, raw: boolean?, max: string|integer?, timeout: sg.Time? }
---@return sg.Page?
---@return sg.Error? err
function sg.host.fetch(o) end

---Queries the search service of the configuration (search.url). Taints the agent.
---@async
---@param o string|{ query: string, count: integer?, page: integer?, timeout: sg.Time? }
---@return { title: string, url: string, text: string }[]?
---@return sg.Error? err
function sg.host.search(o) end

---Arguments of the command line after `--`: named ones with their defaults, then positionals. A positional may end in "?" (may
---be missing) or "..." (the rest, a list): `local a = sg.args { repo = ".", n = 3, "task", "files..." }`. Without a call,
---`sg.args.name` is the value of `--name`.
---@param spec table
---@return table
function sg.args(spec) end

---Ends the script with this exit status and closes `<close>` values.
---@param code? integer
---@param fmt? any
---@param ... any
function sg.exit(code, fmt, ...) end

---Returns true for an error of this library (a table with `code`).
---@param v any
---@return boolean
function sg.is_error(v) end

---Returns the last `n` lines.
---@param s string
---@param n? integer
---@return string
function sg.tail(s, n) end

---Quotes any text as one argument for sh.
---@param s string
---@return string
function sg.quote(s) end

---@class sg.json
---@field null any
sg.json = {}

---Encodes a value as JSON text.
---@param v any
---@param o? { pretty: boolean? }
---@return string
function sg.json.encode(v, o) end

---Decodes JSON text.
---@param text string
---@return any
---@return sg.Error? err
function sg.json.decode(text) end

---Returns the value at a path such as "message.content[0].text", or nil.
---@param v any
---@param path string
---@return any
function sg.json.path(v, path) end

---Marks a table as a list, so that an empty one encodes as [].
---@param t? table
---@return table
function sg.json.list(t) end

return sg
