-- scripted:fix: repairs the demo's project (demo_project.lua) with nothing but shell and edit, then wants to publish.
local function after_push(last)
  if last.text:find "%[exit" then
    return "The push was approved, but the repository has no remote. The fix is committed in the sandbox."
  end
  return "The tests pass and the fix is published."
end

return {
  { say = "I run the tests first.", call = { "shell", { cmd = "make test" } }, think = 0.6 },
  {
    say = "One fails: the last word of a text is not counted. I look at the code.", expect = "not ok",
    call = { "shell", { cmd = "cat words.c" } }, think = 0.8,
  },
  {
    say = "A word is counted where white space follows it; at the end of the text there is none.",
    expect = "count_words", think = 1,
    call = { "edit", {
      path = "words.c", old = "isspace((unsigned char)s[1]))", new = "(!s[1] || isspace((unsigned char)s[1])))",
    } },
  },
  { say = "Once more.", call = { "shell", { cmd = "make test" } }, expect = "edited", think = 0.5 },
  {
    say = "All pass. I commit it.", expect = "0 failed", think = 0.5,
    call = { "shell", {
      cmd = "git add -A && git -c user.name=fix -c user.email=fix@example.org commit -qm 'count the last word'",
    } },
  },
  {
    say = "And publish it.", call = { "shell", { cmd = "git push origin main" } }, think = 0.5,
    on = {
      denied = { say = function(last) return "I leave publishing to you (" .. last.text
        .. "). The fix is in the sandbox, the tests pass." end },
      edited = { say = function(last) return "You changed the command, and that is what ran: " .. last.text end },
      failed = { say = "The push failed. The fix is in the sandbox; the tests pass." },
      allowed = { say = after_push },
    },
  },
}
