import type { Engine } from '@heddle/engine';
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { Capacity } from './admission/capacity.ts';
import type { InputLimits } from './admission/input-limits.ts';
import type { Limiter } from './admission/limiter.ts';
import type { Concurrency, Usage } from './admission/usage.ts';
import type { RunQueue } from './areas/runs/queue.ts';
import type { AnyOperation } from './operation.ts';
import type { Access, Audit, Definitions, ExecutionPolicy, PublicRuns, Reservations } from './ports.ts';

/** Migrations by name, run in the order of their names. Entries are added, never changed. */
export type Migrations = Readonly<Record<string, Migration>>;

/** The database of the areas that have tables. */
export interface Database {
  /** All areas share it, so that an operation and its audit event are one transaction. */
  readonly database: Kysely<unknown>;
  /** Runs the migrations of an area that have not run yet. */
  migrate(area: string, migrations: Migrations): Promise<void>;
}

/** What areas get. */
export interface AreaContext {
  engine: Engine;
  definitions: Definitions;
  access: Access;
  reservations: Reservations;
  /** Undefined: public workflows cannot be run without a credential. */
  publicRuns: PublicRuns | undefined;
  audit: Audit;
  limiter: Limiter;
  /** Undefined: usage is not counted. */
  usage: Usage | undefined;
  /** Undefined: runs in flight are not limited. */
  concurrency: Concurrency | undefined;
  /** Executions in flight in this process. */
  capacity: Capacity;
  policy: ExecutionPolicy;
  /** Input limits of callers without a credential. */
  publicInputs: Required<InputLimits>;
  /** Starts asynchronous runs; undefined: they are refused. */
  queue: RunQueue | undefined;
  /** Undefined: the host has no database for areas. */
  database: Kysely<unknown> | undefined;
  /** Faults that older engines tolerate are warnings. */
  compat: boolean;
  now: () => number;
  /** Milliseconds between two heartbeats of a stream. */
  heartbeatMs: number;
  /** Calls `beat` every `ms` milliseconds. Returns a function that stops it. */
  every: (ms: number, beat: () => void) => () => void;
  /** Reports errors that reach no caller. */
  report: (error: unknown) => void;
}

/** Operations by function name. */
export interface OperationTable {
  readonly [name: string]: AnyOperation;
}

/** A part of the interface: its operations, its tables, and what its handlers use. */
export interface Area<Services = unknown, Table extends OperationTable = OperationTable> {
  /** Unique. The area's migrations are recorded under it. */
  name: string;
  operations: Table;
  migrations?: Migrations;
  /** Returns what the handlers of the area get, and nothing of other areas. Called once, after the migrations. */
  services(context: AreaContext): Promise<Services> | Services;
  /** Stops background work. */
  close?(services: Services): Promise<void> | void;
}

/** Returns the operations with these function names. */
export function only<const Table extends OperationTable, Name extends keyof Table>(
  operations: Table,
  names: readonly Name[] | undefined,
): Pick<Table, Name> {
  if (!names) return operations;
  return Object.fromEntries(names.map((name) => [name, operations[name]])) as unknown as Pick<Table, Name>;
}
