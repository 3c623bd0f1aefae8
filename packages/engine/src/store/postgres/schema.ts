import type { RunRecord } from '@heddle/core';
import type { Generated } from 'kysely';
import type { ControlKind } from '../control.ts';

/** The columns of the tables, for the query builder. The database generates `number` and `position`. */
export interface Tables {
  plans: { hash: string; plan: string };
  deployments: {
    position: Generated<number>;
    workflow_id: string;
    version: number;
    name: string;
    plan_hash: string;
    deployed_ms: number;
  };
  runs: {
    number: Generated<number>;
    run_id: string;
    workflow_id: string;
    created_ms: number;
    header: string;
    ended: Generated<boolean>;
    /** Null until the first record is saved; so are `record_seq` and `record`. */
    status: RunRecord['status'] | null;
    record_seq: number | null;
    record: string | null;
    /** The parent run, if this is a child run. */
    parent: string | null;
    /** Executed by another kind of runtime, not by a process in `processes`. */
    elsewhere: Generated<boolean>;
    /** Waits for a person, and has no owner. */
    resting: Generated<boolean>;
    owner: string | null;
    /** Number of leases that the run has had. */
    epoch: Generated<number>;
  };
  processes: { id: string; since: Date; expires: Date };
  requests: {
    position: Generated<number>;
    id: string;
    run_id: string;
    kind: ControlKind;
    payload: string;
    created_ms: number;
    outcome: string | null;
  };
  journal: { run: number; seq: number; entry: string };
  logs: { run: number; execution_order: number; log: string };
  stored_values: { key: string; json: string; put_at: Generated<Date | null> };
  /** A step of a block; `result` is null while the step runs. */
  steps: { run: number; place: string; key: string; result: string | null };
  /** An entry or a step of the run contains the key. */
  value_uses: { key: string; run: number };
  /** At most one row. */
  run_feed: { id: number; seeded: boolean };
  run_changes: { position: Generated<number>; run_id: string };
  /** Spent and reserved amounts of accounts, in millionths of a dollar. */
  spending: { account: string; micros: number; until_ms: number };
  /**
   * The reservation of a call in one account, until the call is settled. `counted`: the part of the account's total;
   * `least`: the amount that remains when the reservation expires.
   */
  spending_calls: {
    id: string;
    account: string;
    counted: number;
    least: number;
    expires_ms: number | null;
  };
  /**
   * The times at which the next request and the next token of a key fit into its rate limits, and at which its provider
   * accepts it again.
   */
  rates: { key: string; requests_ms: number; tokens_ms: number; blocked_ms: number };
  exchanges: {
    position: Generated<number>;
    tenant: string;
    conversation: string;
    key: string;
    chars: number;
    json: string;
  };
}

/**
 * Format 1 of the schema.
 *
 * JSON is stored as text, so reads return exactly what was written (`jsonb` cannot store \u0000). Ids have the
 * collation "C", so pages of lists have the same order for every collation of the database.
 *
 * A run and its record are one row, so one update compares and replaces the record under one lock. The indexes contain
 * the columns that lists filter by; of these only the status changes, so most updates of a record change no index.
 * `journal` has no foreign key: `run` comes from a lookup in the same statement, and a foreign key would lock the row
 * of the run, which would block writers of the record.
 */
export const FORMAT_1 = `
  CREATE TABLE plans (
    hash text COLLATE "C" PRIMARY KEY,
    plan text NOT NULL
  );
  CREATE TABLE deployments (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    plan_hash text COLLATE "C" NOT NULL REFERENCES plans (hash),
    deployed_ms bigint NOT NULL,
    UNIQUE (workflow_id, version)
  );
  CREATE INDEX deployments_name ON deployments (name);

  CREATE TABLE runs (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL UNIQUE,
    workflow_id text COLLATE "C" NOT NULL,
    created_ms bigint NOT NULL,
    header text NOT NULL,
    ended boolean NOT NULL DEFAULT false,
    status text COLLATE "C",
    record_seq bigint,
    record text
  ) WITH (fillfactor = 80);
  CREATE INDEX runs_newest ON runs (created_ms, run_id, status);
  CREATE INDEX runs_workflow ON runs (workflow_id, created_ms, run_id, status);
  CREATE INDEX runs_open ON runs (created_ms, run_id) WHERE NOT ended;
  CREATE TABLE journal (
    run bigint NOT NULL,
    seq bigint NOT NULL,
    entry text NOT NULL,
    PRIMARY KEY (run, seq)
  );
  CREATE TABLE logs (
    run bigint NOT NULL,
    execution_order bigint NOT NULL,
    log text NOT NULL,
    PRIMARY KEY (run, execution_order)
  );

  CREATE TABLE stored_values (
    key text COLLATE "C" PRIMARY KEY,
    json text NOT NULL
  );
`;

/**
 * Format 2: the processes that share the database, their leases on runs, and requests between them.
 *
 * The row of a process has the expiry time of all its leases, so one small update renews them for any number of runs. A
 * foreign key leads from a run to its owner, so the removal of a process frees its runs in the same commit. The
 * epoch never decreases.
 */
export const FORMAT_2 = `
  CREATE TABLE processes (
    id uuid PRIMARY KEY,
    since timestamptz NOT NULL,
    expires timestamptz NOT NULL
  ) WITH (fillfactor = 50);
  ALTER TABLE runs
    ADD COLUMN parent text COLLATE "C",
    ADD COLUMN elsewhere boolean NOT NULL DEFAULT false,
    ADD COLUMN resting boolean NOT NULL DEFAULT false,
    ADD COLUMN owner uuid REFERENCES processes (id) ON DELETE SET NULL,
    ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
  UPDATE runs
    SET parent = known -> 'parent' ->> 'runId', elsewhere = known -> 'elsewhere' IS NOT NULL
    FROM (
      SELECT number AS of, regexp_replace(header, '\\\\u[0-9a-fA-F]{4}', '\\\\u0041', 'g')::json AS known FROM runs WHERE NOT ended
    ) AS headers
    WHERE number = of;
  CREATE INDEX runs_held ON runs (owner) WHERE owner IS NOT NULL;
  CREATE INDEX runs_free ON runs (created_ms, run_id)
    WHERE owner IS NULL AND NOT ended AND NOT resting AND NOT elsewhere;
  CREATE TABLE requests (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    run_id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    payload text NOT NULL,
    created_ms bigint NOT NULL,
    outcome text
  );
  CREATE INDEX requests_open ON requests (position) WHERE outcome IS NULL;
`;

/**
 * Format 3: runs can be deleted, together with the values that no other run uses.
 *
 * A trigger records the keys in each entry, so that it also covers entries that older versions of Heddle write. Values
 * of older formats have no `put_at`: it is unknown which runs use them, so they are never deleted.
 */
export const FORMAT_3 = `
  CREATE TABLE value_uses (
    key text COLLATE "C" NOT NULL,
    run bigint NOT NULL,
    PRIMARY KEY (key, run)
  );
  CREATE INDEX value_uses_run ON value_uses (run);
  CREATE FUNCTION record_value_uses() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
    BEGIN
      INSERT INTO value_uses (key, run)
        SELECT DISTINCT named[1], NEW.run FROM regexp_matches(NEW.entry, 'sha256:[0-9a-f]{64}', 'g') AS named
        ON CONFLICT DO NOTHING;
      RETURN NULL;
    END
  $body$;
  CREATE TRIGGER journal_value_uses AFTER INSERT OR UPDATE ON journal
    FOR EACH ROW WHEN (NEW.entry LIKE '%sha256:%') EXECUTE FUNCTION record_value_uses();
  ALTER TABLE stored_values ADD COLUMN put_at timestamptz;
  ALTER TABLE stored_values ALTER COLUMN put_at SET DEFAULT clock_timestamp();
  UPDATE runs SET parent = known -> 'parent' ->> 'runId'
    FROM (
      SELECT number AS of, regexp_replace(header, '\\\\u[0-9a-fA-F]{4}', '\\\\u0041', 'g')::json AS known
        FROM runs WHERE parent IS NULL AND header LIKE '%"parent":{%'
    ) AS headers
    WHERE number = of;
  CREATE INDEX runs_parent ON runs (parent) WHERE parent IS NOT NULL;
`;

/**
 * Format 4: steps of blocks (`StepStore`). `place` is the result of `stepPlace`; a step without a result has begun.
 *
 * A trigger records the keys of values in results, as for entries.
 */
export const FORMAT_4 = `
  CREATE TABLE steps (
    run bigint NOT NULL,
    place text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    result text,
    PRIMARY KEY (run, place, key)
  );
  CREATE FUNCTION record_step_value_uses() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
    BEGIN
      INSERT INTO value_uses (key, run)
        SELECT DISTINCT named[1], NEW.run FROM regexp_matches(NEW.result, 'sha256:[0-9a-f]{64}', 'g') AS named
        ON CONFLICT DO NOTHING;
      RETURN NULL;
    END
  $body$;
  CREATE TRIGGER step_value_uses AFTER INSERT OR UPDATE ON steps
    FOR EACH ROW WHEN (NEW.result LIKE '%sha256:%') EXECUTE FUNCTION record_step_value_uses();
`;

/**
 * Format 5: changes to runs (`RunChangeStore`). A trigger adds them, so changes by older versions are recorded too.
 * Nothing is recorded before `run_feed` has a row. `seeded` is true once the runs that existed then have been added to
 * `run_changes`.
 */
export const FORMAT_5 = `
  CREATE TABLE run_feed (
    id integer PRIMARY KEY CHECK (id = 1),
    seeded boolean NOT NULL
  );
  CREATE TABLE run_changes (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL
  );
  CREATE FUNCTION record_run_change() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
    BEGIN
      IF EXISTS (SELECT FROM run_feed) THEN
        INSERT INTO run_changes (run_id) VALUES (CASE WHEN TG_OP = 'DELETE' THEN OLD.run_id ELSE NEW.run_id END);
      END IF;
      RETURN NULL;
    END
  $body$;
  CREATE TRIGGER run_created AFTER INSERT OR DELETE ON runs FOR EACH ROW EXECUTE FUNCTION record_run_change();
  CREATE TRIGGER run_changed AFTER UPDATE OF status ON runs
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION record_run_change();
`;

/** Format 6: exchanges of conversations (`ConversationStore`). */
export const FORMAT_6 = `
  CREATE TABLE exchanges (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    chars integer NOT NULL,
    json text NOT NULL,
    UNIQUE (tenant, conversation, key)
  );
  CREATE INDEX exchanges_order ON exchanges (tenant, conversation, position);
`;

/**
 * Format 7: events of runs that are not part of journals (`LiveEventStore`). `ends` is the number of characters of the
 * stream up to and including the event. Unlogged: a crash of the server empties the tables, which contain no data that
 * a run needs.
 */
export const FORMAT_7 = `
  CREATE UNLOGGED TABLE live_streams (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL UNIQUE,
    last bigint NOT NULL,
    chars bigint NOT NULL,
    touched timestamptz NOT NULL
  ) WITH (fillfactor = 50);
  CREATE UNLOGGED TABLE live_events (
    stream bigint NOT NULL REFERENCES live_streams (number) ON DELETE CASCADE,
    number bigint NOT NULL,
    ends bigint NOT NULL,
    place text COLLATE "C" NOT NULL,
    json text NOT NULL,
    PRIMARY KEY (stream, number)
  );
`;

/**
 * Format 8: spending totals (`SpendingStore`), and rates of keys (`RateStore`). `expires_ms` of a reservation is null
 * once it has expired.
 */
export const FORMAT_8 = `
  CREATE TABLE spending (
    account text COLLATE "C" PRIMARY KEY,
    micros bigint NOT NULL,
    until_ms bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE spending_calls (
    id text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    counted bigint NOT NULL,
    least bigint NOT NULL,
    expires_ms bigint,
    PRIMARY KEY (id, account)
  );
  CREATE INDEX spending_calls_expiry ON spending_calls (account, expires_ms);
  CREATE TABLE rates (
    key text COLLATE "C" PRIMARY KEY,
    requests_ms double precision NOT NULL,
    tokens_ms double precision NOT NULL,
    blocked_ms bigint NOT NULL
  ) WITH (fillfactor = 50);
`;
