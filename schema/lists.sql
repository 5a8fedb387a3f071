-- Of a session that has ended: what people look for and few events are, so that a search of millions of them finds it at once.
-- Derived, as the search index is, and made with it; a file without them is read through. (src/query/listed.h asks by them, in
-- these very words.)

CREATE INDEX IF NOT EXISTS event_edited ON event(action) WHERE kind = 103 AND (instr(body, '"decision":"edit"') > 0 OR instr(body, '\u00') > 0);
CREATE INDEX IF NOT EXISTS event_noted ON event(cause) WHERE kind = 420;
CREATE INDEX IF NOT EXISTS event_marked ON event(cause) WHERE kind = 420 AND (instr(body, '"level":"mark"') > 0 OR instr(body, '\u00') > 0);
CREATE INDEX IF NOT EXISTS event_rare ON event(kind)
WHERE kind <> 10 AND kind NOT BETWEEN 100 AND 107 AND kind NOT BETWEEN 430 AND 438 AND kind NOT BETWEEN 205 AND 210
  AND kind NOT BETWEEN 401 AND 402 AND kind <> 411 AND kind <> 414 AND kind <> 420 AND kind <> 450 AND kind <> 11;
