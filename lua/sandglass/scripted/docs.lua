-- scripted:docs: makes the manual of the demo's project say what the function does with white space.
return {
  {
    say = "I read the manual and the code side by side.", think = 0.7,
    call = { { "read", { path = "MANUAL.md" } }, { "read", { path = "words.c" } } },
  },
  {
    say = "The manual does not say what a word is. The code does.", expect = "count_words", think = 0.9,
    call = { "edit", {
      path = "MANUAL.md", old = "`count_words` counts the words of a text.\n",
      new = "`count_words` counts the words of a text. A word is a run of characters other than white space;\n"
        .. "an empty text has none.\n\n"
        .. "| text | words |\n|---|---|\n| \"\" | 0 |\n| \"one two \" | 2 |\n",
    } },
  },
  { call = { "shell", { cmd = "grep -c '^|' MANUAL.md && git diff --stat 2>/dev/null" } }, expect = "edited",
    think = 0.4 },
  { say = "The manual now says what a word is and shows two examples.", expect = "4" },
}
