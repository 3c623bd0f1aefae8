/** Maximum number of journal positions that a row of `journal_marks` covers. */
export const POSITIONS_PER_MARK = 128;
/** Maximum number of logs in a row of `logs`. */
export const LOGS_PER_ROW = 100;

const RUNS = `
  CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    workflow_id TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    status TEXT NOT NULL,
    ended INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    record TEXT,
    header TEXT NOT NULL
  );
`;
const RUNS_INDEXES = `
  CREATE INDEX runs_open ON runs (created_ms, run_id) WHERE ended = 0;
  CREATE INDEX runs_newest ON runs (created_ms, run_id, status);
  CREATE INDEX runs_workflow ON runs (workflow_id, created_ms, run_id, status);
`;
const JOURNAL_MARKS = `
  CREATE TABLE journal_marks (
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (run, seq)
  ) WITHOUT ROWID;
`;
const LOGS = `
  CREATE TABLE logs (
    run INTEGER NOT NULL,
    part INTEGER NOT NULL,
    logs TEXT NOT NULL,
    PRIMARY KEY (run, part)
  ) WITHOUT ROWID;
`;

/**
 * Format 2: a commit changes fewer pages than in format 1. Each changed page adds about half the time of a
 * short commit.
 *
 * `journal` is append-only, in the order of the commits and not by run: with many active runs, a commit changes the
 * last pages of the table and not one page per run. An index of the entries would add a page to each commit. Instead, a
 * row of `journal_marks` says that the entries of a run from `seq` on, up to the next mark, are between the positions
 * `first` and `last`, mixed with entries of other runs.
 *
 * `record` and `logs` are projections of the journal: the record in the row of its run, the logs as JSON arrays of up
 * to `LOGS_PER_ROW` logs. `seq` is the last entry that the record reflects. The indexes of `runs` contain the columns
 * that lists filter by, so a filter reads only the records that it returns.
 */
export const FORMAT_2 = `
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

  ${RUNS} ${RUNS_INDEXES}
  CREATE TABLE journal (
    position INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    entry TEXT NOT NULL
  );

  ${JOURNAL_MARKS} ${LOGS}
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

/**
 * From format 2 to 3: runs can be deleted, together with the values that no other run uses.
 *
 * A row of `value_uses` records that the run uses the value: an entry contains its key, or `addValueUses` was called.
 * Values of older formats have no `put_ms`: it is unknown which runs use them, so they are never deleted.
 */
export const FROM_2_TO_3 = `
  CREATE TABLE value_uses (
    key TEXT NOT NULL,
    run INTEGER NOT NULL,
    PRIMARY KEY (key, run)
  ) WITHOUT ROWID;
  CREATE INDEX value_uses_run ON value_uses (run);
  ALTER TABLE stored_values ADD COLUMN put_ms INTEGER;
  ALTER TABLE runs ADD COLUMN parent TEXT;
  UPDATE runs SET parent = header ->> '$.parent.runId' WHERE json_valid(header);
  CREATE INDEX runs_parent ON runs (parent) WHERE parent IS NOT NULL;
`;

/**
 * From format 3 to 4: steps of blocks (`StepStore`). `place` is the result of `stepPlace`; a step without a result has
 * begun.
 */
export const FROM_3_TO_4 = `
  CREATE TABLE steps (
    run INTEGER NOT NULL,
    place TEXT NOT NULL,
    key TEXT NOT NULL,
    result TEXT,
    PRIMARY KEY (run, place, key)
  ) WITHOUT ROWID;
`;

/**
 * From format 4 to 5: changes to runs (`RunChangeStore`). Triggers add them for every statement that changes a run.
 * Nothing is recorded before `run_feed` has a row. Positions are never reused, since a consumer acknowledges by
 * position.
 */
export const FROM_4_TO_5 = `
  CREATE TABLE run_feed (begun INTEGER PRIMARY KEY);
  CREATE TABLE run_changes (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL
  );
  CREATE TRIGGER run_created AFTER INSERT ON runs WHEN EXISTS (SELECT 1 FROM run_feed) BEGIN
    INSERT INTO run_changes (run_id) VALUES (NEW.run_id);
  END;
  CREATE TRIGGER run_changed AFTER UPDATE OF status, record ON runs
    WHEN (NEW.status <> OLD.status OR OLD.record IS NULL) AND EXISTS (SELECT 1 FROM run_feed) BEGIN
    INSERT INTO run_changes (run_id) VALUES (NEW.run_id);
  END;
  CREATE TRIGGER run_removed AFTER DELETE ON runs WHEN EXISTS (SELECT 1 FROM run_feed) BEGIN
    INSERT INTO run_changes (run_id) VALUES (OLD.run_id);
  END;
`;

/** From format 1 to 2. */
export const FROM_1_TO_2 = `
  ALTER TABLE runs RENAME TO runs_1;
  ALTER TABLE logs RENAME TO logs_1;

  ${RUNS}
  INSERT INTO runs
    SELECT number, run_id, header ->> 'workflowId', runs_1.created_ms, coalesce(status, 'running'), ended,
      coalesce(record ->> 'seq', 0), record, header
    FROM runs_1 LEFT JOIN records USING (run_id) ORDER BY number;
  DROP TABLE records;
  DROP TABLE runs_1;
  ${RUNS_INDEXES}

  ${JOURNAL_MARKS}
  INSERT INTO journal_marks
    SELECT run, min(seq), min(position), max(position) FROM journal GROUP BY run, position / ${POSITIONS_PER_MARK};
  DROP INDEX journal_run;

  ${LOGS}
  INSERT INTO logs
    SELECT run, execution_order / ${LOGS_PER_ROW} AS part, '[' || group_concat(log ORDER BY execution_order) || ']'
    FROM logs_1 GROUP BY run, part;
  DROP TABLE logs_1;
`;

/** From format 5 to 6: exchanges of conversations (`ConversationStore`). */
export const FROM_5_TO_6 = `
  CREATE TABLE exchanges (
    position INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    key TEXT NOT NULL,
    chars INTEGER NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (tenant, conversation, key)
  );
  CREATE INDEX exchanges_order ON exchanges (tenant, conversation, position);
`;

/**
 * From format 6 to 7: spending totals (`SpendingStore`), and request rates (`RateStore`).
 *
 * A row of `spending_calls` is the reservation of a call in one account: `counted` is its part of the account's total,
 * `least` is the amount that remains when it expires. `expires_ms` is null once it has expired.
 */
export const FROM_6_TO_7 = `
  CREATE TABLE spending (
    account TEXT PRIMARY KEY,
    micros INTEGER NOT NULL,
    until_ms INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE spending_calls (
    id TEXT NOT NULL,
    account TEXT NOT NULL,
    counted INTEGER NOT NULL,
    least INTEGER NOT NULL,
    expires_ms INTEGER,
    PRIMARY KEY (id, account)
  ) WITHOUT ROWID;
  CREATE INDEX spending_calls_expiry ON spending_calls (account, expires_ms);
  CREATE TABLE rates (
    key TEXT PRIMARY KEY,
    requests_ms REAL NOT NULL,
    tokens_ms REAL NOT NULL,
    blocked_ms INTEGER NOT NULL
  ) WITHOUT ROWID;
`;
