-- For people with sqlite3 in their hands. Nothing here is proven; it is dropped and made anew when a writer opens the file.

CREATE TABLE IF NOT EXISTS kind(
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  doc TEXT NOT NULL
) STRICT;

DROP VIEW IF EXISTS v_event;
CREATE VIEW v_event AS
SELECT
  e.seq,
  strftime('%Y-%m-%dT%H:%M:%fZ', e.ts_us / 1000000.0, 'unixepoch') AS time,
  coalesce(k.name, 'kind-' || e.kind) AS kind,
  e.cause,
  e.agent,
  e.box,
  e.action,
  coalesce(e.body, '<redacted>') AS body
FROM event e
LEFT JOIN kind k ON k.number = e.kind;

-- One row per action. What has not happened yet is NULL. what: the command that ran; where none did, what was wanted.
-- wanted: what an agent had wanted where a person put something else in its place, else NULL.
DROP VIEW IF EXISTS v_action;
CREATE VIEW v_action AS
SELECT
  r.seq AS action,
  strftime('%Y-%m-%dT%H:%M:%fZ', r.ts_us / 1000000.0, 'unixepoch') AS time,
  r.agent,
  r.box,
  json_extract(r.body, '$.kind') AS kind,
  coalesce(json_extract(x.body, '$.cmd'), json_extract(x.body, '$.argv'), json_extract(r.body, '$.cmd'),
    json_extract(r.body, '$.argv'), json_extract(r.body, '$.path'), json_extract(r.body, '$.host'),
    json_extract(r.body, '$.tool')) AS what,
  (SELECT json_extract(j.body, '$.verdict') FROM event j WHERE j.action = r.seq AND j.action > 0 AND j.kind = 101
    ORDER BY j.seq DESC LIMIT 1) AS verdict,
  (SELECT json_extract(d.body, '$.decision') FROM event d WHERE d.action = r.seq AND d.action > 0 AND d.kind = 103
    ORDER BY d.seq DESC LIMIT 1) AS decision,
  (SELECT json_extract(d.body, '$.who.name') FROM event d WHERE d.action = r.seq AND d.action > 0 AND d.kind = 103
    ORDER BY d.seq DESC LIMIT 1) AS claimed_by,
  (SELECT min(s.seq) FROM event s WHERE s.action = r.seq AND s.action > 0 AND s.kind = 104) AS started,
  n.seq AS ended,
  json_extract(n.body, '$.end') AS "end",
  json_extract(n.body, '$.code') AS code,
  json_extract(n.body, '$.signal') AS signal,
  json_extract(n.body, '$.why') AS why,
  n.mono_us - r.mono_us AS took_us,
  CASE WHEN x.seq IS NOT NULL THEN coalesce(json_extract(r.body, '$.cmd'), json_extract(r.body, '$.argv'),
    json_extract(r.body, '$.path'), json_extract(r.body, '$.tool')) END AS wanted
FROM event r
LEFT JOIN event x ON x.action = r.seq AND x.action > 0 AND x.kind = 104 AND json_extract(x.body, '$.edited')
LEFT JOIN event n ON n.action = r.seq AND n.action > 0 AND n.kind = 105
WHERE r.kind = 100;

-- Output, piece by piece. text is there where the bytes are stored as they are (codec 0); the others are zstd frames:
-- sqlite3 x.glass "SELECT writefile('s.zst', data) FROM segment WHERE segment = 3"; zstd -dc s.zst
DROP VIEW IF EXISTS v_output;
CREATE VIEW v_output AS
SELECT
  s.action,
  CASE s.stream WHEN 1 THEN 'stdout' WHEN 2 THEN 'stderr' WHEN 3 THEN 'pty' WHEN 4 THEN 'request' WHEN 5 THEN 'response' WHEN 6 THEN 'text'
    ELSE 'stream-' || s.stream END AS stream,
  s.off,
  s.len,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.ts_us / 1000000.0, 'unixepoch') AS time,
  s.segment,
  length(s.data) AS stored,
  CASE WHEN s.data IS NULL THEN '<redacted ' || s.len || ' bytes>' WHEN s.codec = 0 THEN CAST(s.data AS TEXT) END AS text
FROM segment s;

-- Changed paths: every event whose body has a list "changes", one row per path.
DROP VIEW IF EXISTS v_diff;
CREATE VIEW v_diff AS
SELECT
  e.seq,
  e.box,
  e.action,
  json_extract(c.value, '$.op') AS op,
  json_extract(c.value, '$.path') AS path,
  json_extract(c.value, '$.mode') AS mode,
  json_extract(c.value, '$.size') AS size,
  json_extract(c.value, '$.oid') AS oid
FROM event e, json_each(e.body, '$.changes') c
WHERE e.body IS NOT NULL;

DROP VIEW IF EXISTS v_agent;
CREATE VIEW v_agent AS
SELECT
  a.seq AS agent,
  json_extract(a.body, '$.name') AS name,
  json_extract(a.body, '$.task') AS task,
  json_extract(a.body, '$.model') AS model,
  (SELECT count(*) FROM event r WHERE r.agent = a.seq AND r.agent > 0 AND r.kind = 100) AS actions,
  (SELECT json_extract(z.body, '$.stop') FROM event z WHERE z.agent = a.seq AND z.agent > 0 AND z.kind = 403
    ORDER BY z.seq DESC LIMIT 1) AS stop
FROM event a
WHERE a.kind = 400;

DROP VIEW IF EXISTS v_redaction;
CREATE VIEW v_redaction AS
SELECT
  r.what,
  r.id,
  r.seq,
  json_extract(e.body, '$.who') AS who,
  json_extract(e.body, '$.why') AS why
FROM redaction r
LEFT JOIN event e ON e.seq = r.seq;

-- The search index: trigrams of any script. rowid = seq; the text itself is not kept a second time. mark 'indexed' says
-- how far it reaches.
CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5(text, content = '', tokenize = 'trigram', detail = 'none', columnsize = 0);

-- Whose steps the events are (blocks of 4096, LEB128: how far behind its event the action stands, 0 = none's), and the last
-- step of the actions that begin in the block: a word found in an output leads to its action without reading the event.
CREATE TABLE IF NOT EXISTS search_row(
  block INTEGER PRIMARY KEY,      -- events block * 4096 + 1 and on
  reach INTEGER NOT NULL,
  rows BLOB NOT NULL
) STRICT;

-- What searches ask that no words lead to (durations, times, exit statuses, kinds ...), of 4096 events in a row: block << 20 | field
-- (src/record/read/values.h names the fields), the least and the greatest value, and where which of them stands.
CREATE TABLE IF NOT EXISTS search_value(
  place INTEGER PRIMARY KEY,
  low INTEGER NOT NULL,
  high INTEGER NOT NULL,
  rows BLOB NOT NULL
) STRICT;

-- Of files from before there were such blocks.
DROP INDEX IF EXISTS event_edited;
DROP INDEX IF EXISTS event_noted;
DROP INDEX IF EXISTS event_marked;
DROP INDEX IF EXISTS event_rare;
