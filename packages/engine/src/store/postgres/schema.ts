import type { RunRecord } from '@heddle/core';
import type { Generated } from 'kysely';

/** The tables as queries see them; `number` and `position` are given by the database. */
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
    /** Null until the first record is saved, like `record_seq` and `record`. */
    status: RunRecord['status'] | null;
    record_seq: number | null;
    record: string | null;
  };
  journal: { run: number; seq: number; entry: string };
  logs: { run: number; execution_order: number; log: string };
  stored_values: { key: string; json: string };
}

/**
 * Format 1 of the schema.
 *
 * JSON stands as text: what is read is what was written, every character of it (`jsonb` takes no \u0000). Ids are
 * compared by their bytes, so that pages of lists have one order whatever the collation of the database.
 *
 * A run and its record are one row, so that one update says under one lock whether a record is newer than the one
 * that is there. Its indexes hold what lists filter by; they change with the status alone, so most saves of a record
 * touch none of them. `journal` has no foreign key: `run` comes from a lookup in the same statement, and the lock that a key
 * takes on the run's row would make writers of its record wait.
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
