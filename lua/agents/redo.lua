-- `sandglass repeat` of a session that has ended: a session without agents, in which the user's command does the work
-- (it opens the box, runs the recorded command again, compares, and ends the session).
local sg = require "sandglass"
sg.mark "ready"
while true do sg.sleep "1h" end
