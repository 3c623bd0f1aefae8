// The tables are unlogged: a commit does not wait for the disk, and after a crash of the database they are empty, which
// loses the counts of about a minute. `clock_timestamp()` is the current time; `now()` would be the start of the
// transaction.

const NOW_MS = `extract(epoch from clock_timestamp())::double precision * 1000`;

/** The key of the lock: a number that no other part of Heddle uses. */
const CREATE_LOCK_KEY = 716_203_944;

/** Creates the schema, the tables and the function, once for all processes that start at the same time. */
export const createTablesSql = (schema: string): string => `
  BEGIN;
  SELECT pg_advisory_xact_lock(${CREATE_LOCK_KEY});
  CREATE SCHEMA IF NOT EXISTS "${schema.replaceAll('"', '""')}";
  CREATE UNLOGGED TABLE IF NOT EXISTS rate_buckets (
    key text PRIMARY KEY,
    tokens double precision NOT NULL,
    at_ms double precision NOT NULL,
    allowed boolean NOT NULL
  ) WITH (fillfactor = 60);
  CREATE UNLOGGED TABLE IF NOT EXISTS run_slots (
    slot text PRIMARY KEY,
    workspace_id text NOT NULL,
    expires_ms double precision NOT NULL
  );
  CREATE INDEX IF NOT EXISTS run_slots_workspace ON run_slots (workspace_id);
  -- Each statement of a function sees what was committed before the statement began. So the count, which follows the
  -- lock, is current.
  CREATE OR REPLACE FUNCTION take_run_slot(workspace text, id text, most integer, lease_ms double precision)
  RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE now_ms double precision;
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('run_slots ' || workspace, 0));
    now_ms := ${NOW_MS};
    IF (SELECT count(*) FROM run_slots WHERE workspace_id = workspace AND expires_ms > now_ms) >= most THEN
      RETURN false;
    END IF;
    INSERT INTO run_slots VALUES (id, workspace, now_ms + lease_ms);
    RETURN true;
  END $$;
  COMMIT;`;

/** Returns SQL for the tokens at the time `timeSql` in the bucket of the row `b`. */
const tokensAt = (timeSql: string): string =>
  `least($2::double precision, b.tokens + greatest(0, ${timeSql} - b.at_ms) * $3::double precision)`;

const REFILLED_TOKENS = tokensAt('excluded.at_ms');

/** Takes a token of each bucket that has one. $1: sorted keys, $2: capacity, $3: tokens per millisecond. */
export const TAKE_TOKENS = {
  name: 'take_tokens',
  text: `
    INSERT INTO rate_buckets AS b (key, tokens, at_ms, allowed)
    SELECT key, $2::double precision - 1, ${NOW_MS}, true FROM unnest($1::text[]) AS key ORDER BY key
    ON CONFLICT (key) DO UPDATE SET
      allowed = ${REFILLED_TOKENS} >= 1,
      tokens = ${REFILLED_TOKENS} - (CASE WHEN ${REFILLED_TOKENS} >= 1 THEN 1 ELSE 0 END),
      at_ms = greatest(b.at_ms, excluded.at_ms)
    RETURNING allowed, tokens, at_ms`,
};

/** Reads the state of each bucket without taking a token. It has the parameters of `TAKE_TOKENS`. */
export const PEEK_TOKENS = {
  name: 'peek_tokens',
  text: `
    SELECT tokens >= 1 AS allowed, tokens, at_ms FROM (
      SELECT coalesce(${tokensAt('now_ms')}, $2::double precision) AS tokens, now_ms AS at_ms
      FROM (SELECT ${NOW_MS} AS now_ms) AS clock, unnest($1::text[]) AS requested_key
      LEFT JOIN rate_buckets AS b ON b.key = requested_key
    ) AS state`,
};

/**
 * $1: the workspace, or the operation and its caller, that the slot counts for, $2: id of the slot, $3: limit,
 * $4: lease in ms.
 */
export const TAKE_SLOT = { name: 'take_run_slot', text: 'SELECT take_run_slot($1, $2, $3, $4) AS taken' };

/** Releases slots. $1: their ids. */
export const RELEASE_SLOTS = 'DELETE FROM run_slots WHERE slot = ANY($1::text[])';

/** Extends the leases of slots, even of those that were swept while the process could not renew them. */
export const RENEW_SLOTS = `
  INSERT INTO run_slots AS s (slot, workspace_id, expires_ms)
  SELECT slot, workspace, ${NOW_MS} + $3::double precision
  FROM unnest($1::text[], $2::text[]) AS held (slot, workspace) ORDER BY slot
  ON CONFLICT (slot) DO UPDATE SET expires_ms = excluded.expires_ms`;

/** Deletes buckets that were not used for $1 ms, the time to fill completely, and expired slots. Waits for no lock. */
export const SWEEP = `
  WITH buckets AS (
    DELETE FROM rate_buckets WHERE key IN (
      SELECT key FROM rate_buckets WHERE at_ms < ${NOW_MS} - $1::double precision LIMIT 10000 FOR UPDATE SKIP LOCKED
    )
  )
  DELETE FROM run_slots WHERE slot IN (
    SELECT slot FROM run_slots WHERE expires_ms < ${NOW_MS} LIMIT 10000 FOR UPDATE SKIP LOCKED
  )`;
