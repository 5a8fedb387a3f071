-- ClickHouse tables for `sandglass export --all -F tables -o DIR` (schema/README.md, "Tables"). The columns are the
-- fields of the rows. Load a table with
--   clickhouse client -q "INSERT INTO events FROM INFILE 'DIR/events/*/part.jsonl' FORMAT JSONEachRow"
-- after SET date_time_input_format = 'best_effort'.

CREATE TABLE sessions (
    session String,
    uuid String,
    name String,
    time DateTime64(6, 'UTC'),
    state LowCardinality(String),
    duration_us Int64,
    events UInt64,
    actions UInt64,
    execs UInt64,
    failed UInt64,
    model_calls UInt64,
    tokens_in UInt64,
    tokens_out UInt64,
    cost_uusd Nullable(Int64),
    asked UInt64,
    approved UInt64,
    denied UInt64,
    denied_by_rule UInt64
) ENGINE = ReplacingMergeTree PARTITION BY toDate(time) ORDER BY uuid;

CREATE TABLE actions (
    session String,
    action UInt64,
    time DateTime64(6, 'UTC'),
    agent Nullable(String),
    sandbox Nullable(String),
    kind LowCardinality(Nullable(String)),
    what Nullable(String),
    wanted Nullable(String),
    verdict LowCardinality(Nullable(String)),
    decision LowCardinality(Nullable(String)),
    decided_by Nullable(String),
    ended LowCardinality(Nullable(String)),
    code Nullable(Int64),
    signal Nullable(Int64),
    why Nullable(String),
    duration_us Nullable(Int64),
    cost_uusd Nullable(Int64),
    redacted Bool
) ENGINE = ReplacingMergeTree PARTITION BY toDate(time) ORDER BY (session, action);

CREATE TABLE events (
    session String,
    seq UInt64,
    time DateTime64(6, 'UTC'),
    kind LowCardinality(String),
    cause UInt64,
    agent UInt64,
    box UInt64,
    action UInt64,
    redacted Bool,
    body Nullable(String)
) ENGINE = ReplacingMergeTree PARTITION BY toDate(time) ORDER BY (session, seq);

CREATE TABLE files (
    session String,
    seq UInt64,
    time DateTime64(6, 'UTC'),
    sandbox Nullable(String),
    action UInt64,
    op LowCardinality(Nullable(String)),
    path Nullable(String),
    mode Nullable(String),
    size Nullable(Int64),
    oid Nullable(String)
) ENGINE = MergeTree PARTITION BY toDate(time) ORDER BY (session, seq);

CREATE TABLE model_calls (
    session String,
    action UInt64,
    time DateTime64(6, 'UTC'),
    agent Nullable(String),
    model Nullable(String),
    tokens_in Nullable(Int64),
    tokens_out Nullable(Int64),
    tokens_cached Nullable(Int64),
    cost_uusd Nullable(Int64),
    stop LowCardinality(Nullable(String)),
    redacted Bool
) ENGINE = ReplacingMergeTree PARTITION BY toDate(time) ORDER BY (session, action, time);

CREATE TABLE claims (
    session String,
    time DateTime64(6, 'UTC'),
    agent Nullable(String),
    agent_id UInt64,
    event UInt64,
    kind LowCardinality(Nullable(String)),
    text Nullable(String),
    verdict LowCardinality(String),
    why Nullable(String)
) ENGINE = MergeTree PARTITION BY toDate(time) ORDER BY (session, event);
