/** Format 1 of the data file. */
export const FORMAT_1 = `
  CREATE TABLE plans (
    hash TEXT PRIMARY KEY,
    plan TEXT NOT NULL
  );
  CREATE TABLE deployments (
    position INTEGER PRIMARY KEY,
    workflow_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    name TEXT NOT NULL,
    plan_hash TEXT NOT NULL REFERENCES plans (hash),
    deployed_ms INTEGER NOT NULL,
    UNIQUE (workflow_id, version)
  );
  CREATE INDEX deployments_name ON deployments (name);

  CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL,
    ended INTEGER NOT NULL DEFAULT 0,
    header TEXT NOT NULL
  );
  CREATE INDEX runs_open ON runs (created_ms, run_id) WHERE ended = 0;
  CREATE TABLE journal (
    position INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    entry TEXT NOT NULL
  );
  CREATE UNIQUE INDEX journal_run ON journal (run, seq);

  CREATE TABLE records (
    run_id TEXT PRIMARY KEY REFERENCES runs (run_id),
    workflow_id TEXT NOT NULL,
    status TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    record TEXT NOT NULL
  );
  CREATE INDEX records_newest ON records (created_ms, run_id, status);
  CREATE INDEX records_workflow ON records (workflow_id, created_ms, run_id, status);
  CREATE TABLE logs (
    run INTEGER NOT NULL,
    execution_order INTEGER NOT NULL,
    log TEXT NOT NULL,
    PRIMARY KEY (run, execution_order)
  ) WITHOUT ROWID;

  CREATE TABLE stored_values (
    key TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    json TEXT
  );

  CREATE TABLE control (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    run_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    outcome TEXT
  );
  CREATE INDEX control_open ON control (position) WHERE outcome IS NULL;
`;
