import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { AreaContext } from './context.ts';
import type { AnyOperation } from './operation.ts';

/** Migrations by name, run in the order of their names. Migrations are added, never changed. */
export type Migrations = Readonly<Record<string, Migration>>;

/** The database of the areas that have tables. */
export interface Database {
  /** All areas share it, so that an operation and its audit event are one transaction. */
  readonly database: Kysely<unknown>;
  /** Runs the migrations of an area that have not run yet. */
  migrate(area: string, migrations: Migrations): Promise<void>;
}

/** Operations by function name. */
export interface OperationsByName {
  readonly [name: string]: AnyOperation;
}

/** Handles the requests below a path. These requests are not operations, and need no API credential. */
export interface AreaHandler {
  /** Ends with a slash. */
  prefix: string;
  /** Never rejects. `address` is the client's address. `prefix` includes the base path of the API. */
  fetch: (request: Request, details: { address: string | undefined; prefix: string }) => Promise<Response>;
}

/** A module of the API: its operations, its tables, and the services of its handlers. */
export interface Area<Services = unknown, Operations extends OperationsByName = OperationsByName> {
  /** Unique. The area's migrations are recorded under it. */
  name: string;
  operations: Operations;
  migrations?: Migrations;
  /** Returns the services that only the handlers of this area get. Called once, after the migrations. */
  services(context: AreaContext): Promise<Services> | Services;
  /** Returns the handlers of requests that are not operations. */
  handlers?(services: Services): readonly AreaHandler[];
  /** Stops background work. */
  close?(services: Services): Promise<void> | void;
}

/** Returns the operations with these function names; without `names`, all operations. */
export function pickOperations<const Operations extends OperationsByName, Name extends keyof Operations>(
  operations: Operations,
  names: readonly Name[] | undefined,
): Pick<Operations, Name> {
  if (!names) return operations;
  return Object.fromEntries(names.map((name) => [name, operations[name]])) as unknown as Pick<
    Operations,
    Name
  >;
}
