-- Command lines as what they run, and what their exit status says of it.
local commands = require "sandglass.commands"
local spec = require "spec"
local it, eq = spec.it, spec.eq

-- "make test|true" for each command: its words, "!" behind what the line's status decides.
local function told(s)
  local out = {}
  for i, p in ipairs(commands.of(s)) do out[i] = table.concat(p.words, " ") .. (p.decides and "!" or "") end
  return table.concat(out, " / ")
end

it "lists" (function()
  eq(told "make test", "make test!")
  eq(told "cd x && CI=1 timeout -k 5 60 make test", "cd x! / make test!")
  eq(told "make test || true", "make test / true")
  eq(told "make test; echo done", "make test / echo done!")
  eq(told "make test;\n", "make test!")
  eq(told "set -e; make test; echo done", "set -e / make test! / echo done!")
  eq(told "make test 2>&1 | tail -5", "make test / tail -5!")
  eq(told "set -o pipefail && make test |& tail", "set -o pipefail / make test! / tail!")
  eq(told "make test &", "make test")
  eq(told "false || make test", "false / make test")
  eq(told "! make test", "make test")
  eq(told "if make test; then echo ok; fi", "make test / echo ok")
  eq(told "(cd a && make test)", "cd a! / make test!")
  eq(told "{ make test; }", "make test!")
end)

it "says what a command changes" (function()
  local function changes(s, path)
    local out = {}
    for i, p in ipairs(commands.of(s)) do out[i] = commands.changes(p, path) and "y" or "n" end
    return table.concat(out)
  end
  eq(changes("make test && sed -i s/a/b/ src/a.c", "src/a.c"), "ny")
  eq(changes("make test && sed s/a/b/ src/a.c", "src/a.c"), "nn")
  eq(changes("cd src; make test; echo x >>./a.c", "src/a.c"), "nny")
  eq(changes("make test 2>&1 >/dev/null && cat a.c <b.c", "a.c"), "nn")
  eq(changes("make test && cp /tmp/x /workspace/src/", "src/a.c"), "ny")
  eq(changes("make test && rm -rf src2", "src/a.c"), "nn")
  eq(changes("make test && git -C . checkout -- .", "src/a.c"), "ny")
  eq(changes("make test && git commit -am x", "src/a.c"), "nn")
  eq(changes("sh -c 'make test; mv b.c a.c'", "a.c"), "ny")
  eq(changes("make test && sed --in-place s/a/b/ a.c", "a.c"), "ny")
  eq(changes("make test && { echo a; } >a.c", "a.c"), "ny")
  eq(changes("make test && (echo a; echo b) >>a.c", "a.c"), "nny")
  eq(changes("make test; for i in 1 2; do echo $i; done >a.c", "a.c"), "nny")
  eq(changes("make test; >a.c", "a.c"), "ny")
  eq(changes("{ make test; } >log && ls", "log"), "yn")
  eq(changes("make test && dd if=b of=a.c", "a.c"), "ny")
  eq(changes("make test && dd if=a.c of=b", "a.c"), "nn")
  eq(commands.of("make test | tee log")[2].piped, true)
end)

it "words" (function()
  eq(told "echo 'make test' \"a; b\" c\\ d", "echo make test a; b c d!")
  eq(told "echo hi # make test", "echo hi!")
  eq(told "cat >f <<EOF\nmake test\nEOF\nls", "cat / ls!")
  eq(told "x=$(make test; true) ls >a 2>/dev/null", "ls!")
  eq(told "bash -lc 'make test || true'", "make test / true")
  eq(told "bash -lc make test", "make test!")
  eq(told "env -u A B=1 sudo -u me make test", "make test!")
  eq(told "make \\\n  test", "make test!")
  eq(told "", "")
  eq(told "'", "!")
end)

local function first(s) return commands.of(s)[1].words end

it "tests" (function()
  for _, s in ipairs { "make test", "make -j8 test", "make -C d check", "npm test", "npm run test:unit", "npx jest -t x", "go test ./...", "cargo nextest run",
    "python3 -m pytest -q", "python3 -m unittest", "python tests/test_a.py", "./run_tests.sh", "bash test.sh", "python runtests.py", "uv run pytest", "node --test", "mvn -q verify",
    "python manage.py test", "/usr/bin/make test", "ninja -C b test", "./gradlew test" } do
    eq(commands.tests(first(s)), true, s)
  end
  for _, s in ipairs { "echo make test", "make -n test", "make", "grep pytest log", "cat tests/out", "npm install", "git add tests", "pytest --version",
    "make latest", "python3 -m pip install pytest", "ls test", "./contest", "python latest.py" } do
    eq(commands.tests(first(s)), false, s)
  end
end)

it "git and others" (function()
  eq(commands.git "push"(first "git -C x -c a=b push origin main"), true)
  eq(commands.git "push"(first "git push -n"), false)
  eq(commands.git "commit"(first "git commit --dry-run"), false)
  eq(commands.git "push"(first "echo git push"), false)
  eq(commands.builds(first "make -j8"), true)
  eq(commands.builds(first "cat Makefile"), false)
  eq(commands.begins "make lint"(first "make lint V=1"), true)
  eq(commands.begins "make lint"(first "echo make lint"), false)
  eq(commands.begins "/usr/bin/make lint"(first "make lint"), true)
end)
