-- A Python-only sandbox beyond the suite: its isolation, its error for a shell, wheels, and an
-- agent in it.
local sg = require "sandglass"
local a = sg.args { "package", wheel = "" }
local box <close> = sg.sandbox { backend = "pyodide", package = a.package, repo = "repo", env = { MINE = "set" } }
local function py(code)
  local r, err = box:exec { "python", "-c", code }
  return r and r.out .. r.err .. (r.code == 0 and "" or "=" .. (r.code or r.signal)) or tostring(err)
end

print("profile " .. box.profile .. " shell " .. tostring(box.caps.shell))
print("wall " .. py [[
import asyncio, importlib, os, socket, time
print(os.getcwd(), open('a.txt').read().strip(), sorted(os.environ), os.environ['MINE'])
for name in ('js', 'pyodide_js'):
    try: importlib.import_module(name); print('has', name)
    except ImportError: pass
print(os.path.exists('/etc/passwd'), os.path.exists('/usr'))
try: time.sleep.__closure__[0].cell_contents.sleep.constructor('return process')()
except Exception as e: print('disallowed' in str(e))
try: socket.create_connection(('127.0.0.1', 1))
except OSError as e: print(e)
asyncio.run(asyncio.sleep(0.01))
print('slept')
]])
py "open('b.txt', 'w').write('two\\n'); open('odd one\\n', 'wb').write(bytes(range(256)))"
print("bytes " .. #box:read "odd one\n")
print("text " .. box:exec("python - <<'E'\nprint('from here')\nE").out)
local r = box:exec "ls | wc -l"
print("none " .. r.code .. " " .. r.err)
print("batch " .. tostring(select(2, box:batch { "python -V" })))
do
  local sh <close> = box:shell()
  sh:run "x = 40\ndef add(n):\n    return x + n"
  print("shell " .. sh:run "add(2)".out .. sh:run "1/0".code)
  print("stop " .. tostring(select(2, sh:run("while True: pass", { timeout = "300ms" }))) .. sh:run "x".out)
end
if a.wheel ~= "" then
  box:put(a.wheel, "tiny-1-py3-none-any.whl")
  print("pip " .. box:exec("pip install tiny-1-py3-none-any.whl").out .. py "import tiny; print(tiny.word)")
  print("net " .. box:exec("pip install requests").err)
end
local agent = assert(sg.agent.run { box = box, task = "look", tools = { "shell", "grep" }, model = "scripted:turns.lua" })
print("agent " .. agent.text)
