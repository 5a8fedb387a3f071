-- Definitions that session files of earlier versions have. A file is read if each of its definitions is here, in views.sql, or
-- in 0001_event.sql.

CREATE VIEW v_action AS
SELECT
  r.seq AS action,
  strftime('%Y-%m-%dT%H:%M:%fZ', r.ts_us / 1000000.0, 'unixepoch') AS time,
  r.agent,
  r.box,
  json_extract(r.body, '$.kind') AS kind,
  coalesce(json_extract(r.body, '$.cmd'), json_extract(r.body, '$.argv'), json_extract(r.body, '$.path'),
    json_extract(r.body, '$.host'), json_extract(r.body, '$.tool')) AS what,
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
  json_extract(n.body, '$.why') AS why,
  n.mono_us - r.mono_us AS took_us
FROM event r
LEFT JOIN event n ON n.action = r.seq AND n.action > 0 AND n.kind = 105
WHERE r.kind = 100;

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
  json_extract(n.body, '$.why') AS why,
  n.mono_us - r.mono_us AS took_us,
  CASE WHEN x.seq IS NOT NULL THEN coalesce(json_extract(r.body, '$.cmd'), json_extract(r.body, '$.argv'),
    json_extract(r.body, '$.path'), json_extract(r.body, '$.tool')) END AS wanted
FROM event r
LEFT JOIN event x ON x.action = r.seq AND x.action > 0 AND x.kind = 104 AND json_extract(x.body, '$.edited')
LEFT JOIN event n ON n.action = r.seq AND n.action > 0 AND n.kind = 105
WHERE r.kind = 100;

CREATE VIEW v_output AS
SELECT
  s.action,
  CASE s.stream WHEN 1 THEN 'stdout' WHEN 2 THEN 'stderr' WHEN 3 THEN 'pty' WHEN 4 THEN 'request' WHEN 5 THEN 'response'
    ELSE 'stream-' || s.stream END AS stream,
  s.off,
  s.len,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.ts_us / 1000000.0, 'unixepoch') AS time,
  s.segment,
  length(s.data) AS stored,
  CASE WHEN s.data IS NULL THEN '<redacted ' || s.len || ' bytes>' WHEN s.codec = 0 THEN CAST(s.data AS TEXT) END AS text
FROM segment s;

CREATE VIRTUAL TABLE search USING fts5(text, content = '', tokenize = 'trigram', detail = 'none');

-- What SQLite makes for a search table.
CREATE TABLE 'search_data'(id INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE 'search_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE 'search_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
CREATE TABLE 'search_config'(k PRIMARY KEY, v) WITHOUT ROWID;

-- What searches asked that no words led to, before search_value.
CREATE INDEX IF NOT EXISTS event_edited ON event(action) WHERE kind = 103 AND (instr(body, '"decision":"edit"') > 0 OR instr(body, '\u00') > 0);
CREATE INDEX IF NOT EXISTS event_noted ON event(cause) WHERE kind = 420;
CREATE INDEX IF NOT EXISTS event_marked ON event(cause) WHERE kind = 420 AND (instr(body, '"level":"mark"') > 0 OR instr(body, '\u00') > 0);
CREATE INDEX IF NOT EXISTS event_rare ON event(kind)
WHERE kind <> 10 AND kind NOT BETWEEN 100 AND 107 AND kind NOT BETWEEN 430 AND 438 AND kind NOT BETWEEN 205 AND 210
  AND kind NOT BETWEEN 401 AND 402 AND kind <> 411 AND kind <> 414 AND kind <> 420 AND kind <> 450 AND kind <> 11;
