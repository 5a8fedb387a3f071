-- The session file, formats 1 and 2. schema/README.md says what each column means and how it is proven.
-- Events are never changed and never removed; the triggers let through one thing: the recorded erasure of a body.

CREATE TABLE session(
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id TEXT NOT NULL,               -- for people: s-7k2m9q
  uuid BLOB NOT NULL,             -- 16 random bytes: what is proven carries this name
  name TEXT NOT NULL,
  key BLOB NOT NULL,              -- Ed25519 public key, 32 bytes, of whoever began it
  created_us INTEGER NOT NULL
) STRICT;

CREATE TABLE origin(              -- of a fork: whose the events up to seq are; no row = all are this session's
  seq INTEGER PRIMARY KEY,        -- the last event of theirs
  id TEXT NOT NULL,
  uuid BLOB NOT NULL,
  key BLOB NOT NULL               -- as in their session row
) STRICT;

CREATE TABLE event(
  seq INTEGER PRIMARY KEY,        -- 1, 2, 3 ...; order is this and nothing else
  cause INTEGER NOT NULL,         -- seq that led to it; 0 = none
  agent INTEGER NOT NULL,         -- seq of the agent's agent.start; 0 = none
  box INTEGER NOT NULL,           -- seq of the box's box.open; 0 = none
  action INTEGER NOT NULL,        -- seq of the action's action.requested; 0 = none
  ts_us INTEGER NOT NULL,         -- wall clock, UTC, microseconds since 1970
  mono_us INTEGER NOT NULL,       -- clock since the machine's boot
  kind INTEGER NOT NULL,          -- kind.number
  salt BLOB,                      -- 16 random bytes; NULL = redacted
  body TEXT,                      -- compact JSON object; NULL = redacted
  body_hash BLOB NOT NULL,        -- H(salt, body)
  chain BLOB NOT NULL             -- H(chain before, header, body_hash)
) STRICT;
CREATE INDEX event_agent ON event(agent) WHERE agent > 0;
CREATE INDEX event_box ON event(box) WHERE box > 0;
CREATE INDEX event_action ON event(action) WHERE action > 0;

CREATE TABLE segment(
  segment INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,           -- the output event that proves it
  action INTEGER NOT NULL,
  stream INTEGER NOT NULL,        -- 1 stdout, 2 stderr, 3 pty, 4 model request, 5 model response, 6 model text
  off INTEGER NOT NULL,           -- of its first byte in the stream
  len INTEGER NOT NULL,           -- bytes when unpacked
  ts_us INTEGER NOT NULL,         -- of its first chunk
  times BLOB,                     -- the chunks: pairs of LEB128 numbers (microseconds since the one before, bytes)
  salt BLOB,                      -- 16 random bytes; NULL = redacted
  hash BLOB NOT NULL,             -- H(salt, u32be length of times, times, data)
  codec INTEGER NOT NULL,         -- 0 as it is, 1 zstd
  data BLOB                       -- NULL = redacted
) STRICT;
CREATE UNIQUE INDEX segment_place ON segment(action, stream, off);
CREATE UNIQUE INDEX segment_seq ON segment(seq);

CREATE TABLE object(
  object INTEGER PRIMARY KEY,     -- the objects of one event stand together, sorted by oid
  seq INTEGER NOT NULL,           -- the event that added it
  oid BLOB NOT NULL UNIQUE,       -- git's SHA-1 name
  type INTEGER NOT NULL,          -- 2 tree, 3 blob
  size INTEGER NOT NULL,
  hash BLOB NOT NULL,             -- H("blob 12" NUL bytes): this is what is proven
  codec INTEGER NOT NULL,
  data BLOB                       -- NULL = redacted
) STRICT;

CREATE INDEX object_seq ON object(seq);

CREATE TABLE message(
  message INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,      -- H(bytes); events name messages by it
  size INTEGER NOT NULL,
  codec INTEGER NOT NULL,
  data BLOB                       -- NULL = redacted
) STRICT;

CREATE TABLE checkpoint(
  seq INTEGER PRIMARY KEY,
  ts_us INTEGER NOT NULL,
  chain BLOB NOT NULL,            -- event.chain at seq
  key BLOB NOT NULL,
  sig BLOB NOT NULL               -- Ed25519 over five lines of text, see schema/README.md
) STRICT;

CREATE TABLE redaction(
  what TEXT NOT NULL CHECK (what IN ('event', 'segment', 'object', 'message')),
  id INTEGER NOT NULL,            -- the row's number in the table of that name
  seq INTEGER NOT NULL,           -- the redacted event that says who and why
  PRIMARY KEY (what, id)
) STRICT, WITHOUT ROWID;

-- What the program needs to go on; proves nothing.
CREATE TABLE mark(
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER event_kept BEFORE UPDATE ON event
WHEN NOT (NEW.salt IS NULL AND NEW.body IS NULL
  AND NEW.seq IS OLD.seq AND NEW.cause IS OLD.cause AND NEW.agent IS OLD.agent AND NEW.box IS OLD.box
  AND NEW.action IS OLD.action AND NEW.ts_us IS OLD.ts_us AND NEW.mono_us IS OLD.mono_us AND NEW.kind IS OLD.kind
  AND NEW.body_hash IS OLD.body_hash AND NEW.chain IS OLD.chain
  AND EXISTS (SELECT 1 FROM redaction WHERE what = 'event' AND id = OLD.seq))
BEGIN
  SELECT RAISE(ABORT, 'events are never changed');
END;
CREATE TRIGGER segment_kept BEFORE UPDATE ON segment
WHEN NOT (NEW.salt IS NULL AND NEW.times IS NULL AND NEW.data IS NULL
  AND NEW.segment IS OLD.segment AND NEW.seq IS OLD.seq AND NEW.action IS OLD.action AND NEW.stream IS OLD.stream
  AND NEW.off IS OLD.off AND NEW.len IS OLD.len AND NEW.ts_us IS OLD.ts_us AND NEW.hash IS OLD.hash
  AND NEW.codec IS OLD.codec
  AND EXISTS (SELECT 1 FROM redaction WHERE what = 'segment' AND id = OLD.segment))
BEGIN
  SELECT RAISE(ABORT, 'segments are never changed');
END;
CREATE TRIGGER object_kept BEFORE UPDATE ON object
WHEN NOT (NEW.data IS NULL
  AND NEW.object IS OLD.object AND NEW.seq IS OLD.seq AND NEW.oid IS OLD.oid AND NEW.type IS OLD.type
  AND NEW.size IS OLD.size AND NEW.hash IS OLD.hash AND NEW.codec IS OLD.codec
  AND EXISTS (SELECT 1 FROM redaction WHERE what = 'object' AND id = OLD.object))
BEGIN
  SELECT RAISE(ABORT, 'objects are never changed');
END;
CREATE TRIGGER message_kept BEFORE UPDATE ON message
WHEN NOT (NEW.data IS NULL
  AND NEW.message IS OLD.message AND NEW.hash IS OLD.hash AND NEW.size IS OLD.size AND NEW.codec IS OLD.codec
  AND EXISTS (SELECT 1 FROM redaction WHERE what = 'message' AND id = OLD.message))
BEGIN
  SELECT RAISE(ABORT, 'messages are never changed');
END;
CREATE TRIGGER session_kept BEFORE UPDATE ON session
BEGIN
  SELECT RAISE(ABORT, 'the session row is never changed');
END;
CREATE TRIGGER origin_kept BEFORE UPDATE ON origin
BEGIN
  SELECT RAISE(ABORT, 'where a fork comes from is never changed');
END;
CREATE TRIGGER origin_stays BEFORE DELETE ON origin
BEGIN
  SELECT RAISE(ABORT, 'where a fork comes from is never forgotten');
END;
CREATE TRIGGER checkpoint_kept BEFORE UPDATE ON checkpoint
BEGIN
  SELECT RAISE(ABORT, 'checkpoints are never changed');
END;
CREATE TRIGGER redaction_kept BEFORE UPDATE ON redaction
BEGIN
  SELECT RAISE(ABORT, 'redactions are never changed');
END;
CREATE TRIGGER event_stays BEFORE DELETE ON event
BEGIN
  SELECT RAISE(ABORT, 'events are never removed');
END;
CREATE TRIGGER segment_stays BEFORE DELETE ON segment
BEGIN
  SELECT RAISE(ABORT, 'segments are never removed');
END;
CREATE TRIGGER object_stays BEFORE DELETE ON object
BEGIN
  SELECT RAISE(ABORT, 'objects are never removed');
END;
CREATE TRIGGER message_stays BEFORE DELETE ON message
BEGIN
  SELECT RAISE(ABORT, 'messages are never removed');
END;
CREATE TRIGGER checkpoint_stays BEFORE DELETE ON checkpoint
BEGIN
  SELECT RAISE(ABORT, 'checkpoints are never removed');
END;
CREATE TRIGGER redaction_stays BEFORE DELETE ON redaction
BEGIN
  SELECT RAISE(ABORT, 'redactions are never removed');
END;
