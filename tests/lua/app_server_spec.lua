-- Codex's request is its model's request, without the shell around it.
local bare = require "sandglass.inside.app_server".bare
local spec = require "spec"

spec.it "the shell around a command is taken off where that is certain" (function()
  for said, meant in pairs {
    ["/bin/sh -lc 'rm -f x'"] = "rm -f x",
    ["/bin/bash -lc 'rm -f x'"] = "rm -f x",
    ["bash -c ls"] = "ls",
    ["zsh -lc \"echo 'a' > b\""] = "echo 'a' > b",
    [ [[/bin/sh -lc "echo \"a\" \$HOME \\n"]] ] = [[echo "a" $HOME \n]],
    [ [[/bin/sh -lc 'echo '"'"'a'"'"' b']] ] = "echo 'a' b",
  } do spec.eq(bare(said), meant, said) end
end)

spec.it "and nowhere else" (function()
  for _, said in ipairs {
    "rm -f x", "/bin/sh -lc ls -la", "/bin/sh -lc 'a' && rm -rf b", "/bin/sh -lc \"$(rm b)\"", "/bin/sh -lc 'open", "/bin/sh script -lc 'a'",
    "sh -lc 'a';rm b", "fish -c 'a'",
  } do spec.eq(bare(said), said) end
end)
