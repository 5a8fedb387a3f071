-- MCP: a machine that a program or a service offers through its tools
-- For servers with a tool that runs shell commands, over streamable HTTP with a bearer token (2025-03-26 and later): MCP_URL and
-- MCP_TOKEN name them (if none is required: MCP_TOKEN=no-token). As shipped it is Zo Computer. A server that opens sandboxes
-- of its own (sandbox_create, as `sandglass mcp serve --http` has) is asked for one; else /workspace of its machine is used, and
-- must be empty. options: tool, argument (their names there), piece (bytes of an answer).
-- Such servers shorten long answers: so the output of a text goes into a file there and is fetched in pieces that are counted.
local sandbox = require "sandglass.plugin_sandbox"
local p = require "sandglass.plugin"

local M = {
  kind = "sandbox", name = "mcp", about = "MCP: a machine that a program or service offers through its tools",
  url = "https://api.zo.computer/mcp", hosts = p.list { "api.zo.computer" },
  env = { key = "MCP_TOKEN", url = "MCP_URL" },
  auth = p.list { "Authorization: Bearer {key}" },
  poll = 1,   -- such a server may do one thing after the other: input must get in between
}

local PIECE, LEAST = 60000, 1000
local VERSION = "2025-06-18"

-- The answer to request `id` in a body of JSON or of events.
local function answer_in(body, id)
  if body:find "^%s*{" then return p.decode(body) end
  local found
  local take = sandbox.events(function(_, data)
    local v = p.decode(data)
    if type(v) == "table" and v.id == id then found = v end
  end)
  take(body .. "\n\n")
  return found
end

local function ask(box, method, params, host, more)
  local id = host.uuid()
  local request = { jsonrpc = "2.0", id = id, method = method, params = params }
  local r = host.http { method = "POST", path = "", json = request, first = 120, again = more and more.again, accept = { [404] = true },
    headers = { Accept = "application/json, text/event-stream", ["Mcp-Session-Id"] = box.session,
      ["MCP-Protocol-Version"] = box.session and box.version or nil } }
  if r.status == 404 then host.fail("gone", "mcp: the server no longer knows the session: %s", (p.error_text(r.body or ""))) end
  local v = answer_in(r.body or "", id)
  if type(v) ~= "table" then host.fail("bad", "mcp: the server doesn't speak MCP: %s", (p.error_text(r.body or ""))) end
  if v.error then host.fail("bad", "mcp: %s: %s", method, tostring(v.error.message)) end
  return v.result or {}, r
end

local function text_of(result)
  local s = result.structuredContent
  if type(s) == "table" and type(s.stdout) == "string" then return s.stdout end
  local list = {}
  for _, c in ipairs(result.content or {}) do
    if c.type == "text" and type(c.text) == "string" then list[#list + 1] = c.text end
  end
  return table.concat(list, "\n")
end

local function call(box, name, arguments, host, more)
  return ask(box, "tools/call", { name = name, arguments = arguments }, host, more)
end

-- Runs text in the tool's shell and returns its output.
local function shell(box, text, host)
  local arguments = { [box.argument] = text }
  if box.sandbox then arguments.sandbox_id = box.sandbox end
  if box.timeout then arguments[box.timeout] = box.timeout == "timeout_ms" and 90000 or 90 end
  local result = call(box, box.tool, arguments, host)
  local said = text_of(result)
  if result.isError and not said:find "@@" then host.fail("bad", "mcp: %s: %s", box.tool, p.clean(said):sub(1, 300)) end
  return said
end

local NAMES = { "sandbox_exec", "run_bash_command", "bash", "shell", "run_command", "run_process", "execute_command", "exec", "terminal" }
local ARGUMENTS = { "cmd", "command", "command_line", "commandLine", "script" }

local function argument_of(tool, wish)
  local known = (tool.inputSchema or {}).properties or {}
  for _, name in ipairs(wish and { wish } or ARGUMENTS) do
    if known[name] then return name end
  end
end

local function choose(tools, o, host)
  local by_name, names = {}, {}
  for i, t in ipairs(tools) do by_name[t.name], names[i] = t, t.name end
  for _, name in ipairs(o.options.tool and { o.options.tool } or NAMES) do
    local t = by_name[name]
    local argument = t and argument_of(t, o.options.argument)
    if argument then return t, argument, by_name end
  end
  host.fail("unable", "mcp: the server has no tool that runs shell commands (it has: %s); options = { tool = ..., argument = ... } names one",
    table.concat(names, ", "))
end

local function begin(box, host)
  local first, r = ask(box, "initialize", { protocolVersion = VERSION, capabilities = p.decode "{}",
    clientInfo = { name = "sandglass", version = "1" } }, host, { again = true })
  box.session, box.version = r.headers["mcp-session-id"], first.protocolVersion or VERSION
  host.http { method = "POST", path = "", again = true, accept = { [404] = true }, json = { jsonrpc = "2.0", method = "notifications/initialized" },
    headers = { Accept = "application/json, text/event-stream", ["Mcp-Session-Id"] = box.session, ["MCP-Protocol-Version"] = box.version } }
end

local function check_workspace(box, host)
  local said = shell(box, 'mkdir -p /workspace 2>/dev/null; if [ -n "$(ls -A /workspace 2>/dev/null)" ]; then echo @@full; else echo @@free; fi', host)
  if said:find "@@full" then host.fail("bad", "mcp: /workspace of that machine is not empty; empty it, or use another machine") end
  if not said:find "@@free" then host.fail("bad", "mcp: '%s' is not a shell: %s", box.tool, p.clean(said):sub(1, 200)) end
end

function M.open(o, host)
  if o.image or o.build or o.snapshot then host.fail("unable", "mcp: 'image', 'build', and 'snapshot' are not supported") end
  if #o.hosts > 0 then host.fail("unable", "mcp: 'net' is not supported: its owner controls the network") end
  local box = { id = o.tag, tag = o.tag, piece = tonumber(o.options.piece) or PIECE }
  begin(box, host)
  local t, argument, all = choose(ask(box, "tools/list", p.decode "{}", host, { again = true }).tools or {}, o, host)
  local known = t.inputSchema.properties
  box.tool, box.argument = t.name, argument
  box.timeout = known.timeout_ms and "timeout_ms" or known.timeout and "timeout" or nil
  box.lacks = p.list { "the network is its owner's" }
  if all.sandbox_create and known.sandbox_id then
    local made = call(box, "sandbox_create", { name = "rented", empty = true }, host)
    box.sandbox = made.structuredContent and made.structuredContent.sandbox_id
    if not box.sandbox then host.fail("bad", "mcp: sandbox_create: %s", p.clean(text_of(made)):sub(1, 200)) end
  else
    check_workspace(box, host)
  end
  host.keep(box)
  return box
end

local learned = {}   -- by box: bytes of an answer that came whole

-- The size of `file` there, and its bytes from `at` on, as many as an answer holds. The last piece
-- removes the file.
local function fetch(box, file, at, before, host)
  local most = learned[box.id] or box.piece
  local said = shell(box, ('%sf=%s; n=$(($(wc -c <$f))); echo "@@ $n"; tail -c +%d $f | head -c %d; echo @@end; [ $n -gt %d ] || rm -f $f')
    :format(before, file, at + 1, most, at + most), host)
  local n, bytes = said:match "@@ *(%d+)\r?\n(.*)@@end"
  n = tonumber(n)
  if n and #bytes == math.min(most, n - at) then return n, bytes end
  if most // 2 < LEAST then host.fail("bad", "mcp: %s shortens or changes what a command prints: %s", box.tool, p.clean(said):sub(1, 200)) end
  learned[box.id] = most // 2
  host.fail("cut", "mcp: %s has shortened an answer of %d bytes", box.tool, most)   -- it is asked again, for less
end

function M.exec(box, text, host)
  local file = "/tmp/.sandglass-mcp-" .. host.uuid()
  local n, bytes = fetch(box, file, 0, ("{ %s\n} >%s 2>/dev/null </dev/null\n"):format(text, file), host)
  local at = #bytes
  host.out(bytes)
  while at < n do
    _, bytes = fetch(box, file, at, "", host)
    at = at + #bytes
    host.out(bytes)
  end
end

function M.close(box, host)
  local ok, wrong = pcall(function()
    if box.sandbox then
      call(box, "sandbox_close", { sandbox_id = box.sandbox }, host)
    elseif box.tool then
      shell(box, ("for f in /tmp/.sandglass-%s/*/p; do [ -s $f ] && kill -9 -$(cat $f) 2>/dev/null; done; rm -rf /tmp/.sandglass-%s; "
        .. "find /workspace -mindepth 1 -delete 2>/dev/null; echo @@"):format(box.tag, box.tag), host)
    end
  end)
  if not ok and not (type(wrong) == "table" and wrong.code == "gone") then error(wrong, 0) end
  if box.session then
    host.http { method = "DELETE", path = "", again = true, headers = { ["Mcp-Session-Id"] = box.session },
      accept = { [400] = true, [404] = true, [405] = true } }
  end
end

return M
