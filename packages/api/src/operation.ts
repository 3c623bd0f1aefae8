import type * as z from 'zod';
import type { Principal } from './auth/principal.ts';
import type { Role, Scope } from './auth/roles.ts';
import type { ErrorStatus } from './errors.ts';
import type { Services } from './services.ts';
import type { WorkflowRow } from './store/schema.ts';

/** What the caller of an operation is answered with. */
export type Reply =
  | { status?: number; headers?: { [name: string]: string }; data: unknown }
  | { status?: number; headers?: { [name: string]: string }; page: unknown[]; nextCursor: string | null }
  | { raw: Response };

/** A call that has been admitted: who calls, what was sent, what it is about. */
export interface Call<Path, Query, Body> {
  principal: Principal;
  path: Path;
  query: Query;
  body: Body;
  headers: Headers;
  /** Aborted when the caller has gone away. */
  signal: AbortSignal;
  /** True: the answer's body is not sent, so that nothing is read for it nor recorded as read. */
  head?: boolean;
  /** `https://host` of this deployment, for absolute addresses. */
  origin: string;
}

/** What an operation is about; the access of the caller to its workspace is checked before the handler runs. */
export type Resource = 'workflow' | 'workspaceInQuery' | 'workspaceInBody' | 'none';

/** One row of the operation table: routes, scopes, roles, OpenAPI and tests read it. */
export interface Operation<
  Path extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
> {
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the origin, with `{name}` for parameters. */
  path: string;
  tag: string;
  summary: string;
  scope: Scope;
  role: Role;
  /** Whether keys of a workspace may call it. */
  workspaceKeys: boolean;
  resource: Resource;
  /** Of the older interface: errors are `{error: text, details?}`, and answers have no envelope. */
  legacy?: true;
  /** Archived workflows are found too. */
  archived?: true;
  params: Path;
  query: Query;
  /** Query keys that may be sent several times. */
  repeatable?: readonly string[];
  body?: Body;
  /** The body may be left out. */
  bodyOptional?: true;
  success: { status: number; schema: z.ZodType; page?: true; description: string }[];
  /** Successes that are no JSON: media type and what is in it. */
  streams?: { type: string; description: string }[];
  errors: readonly ErrorStatus[];
  /** It runs a workflow: the chain of calls is looked at, and it takes a ticket until the call is over. */
  executes?: true;
  /** Workflows that are public are for callers without a credential too. */
  public?: true;
  /** Rules between fields, before anything is looked up. */
  check?(call: Call<z.output<Path>, z.output<Query>, z.output<Body>>): void;
  handle(
    services: Services,
    call: Call<z.output<Path>, z.output<Query>, z.output<Body>>,
    workflow: WorkflowRow | undefined,
  ): Promise<Reply>;
}

/** The operation, its types kept for those who call it as a function. */
export function defineOperation<
  const Path extends z.ZodObject,
  const Query extends z.ZodObject,
  const Body extends z.ZodType,
>(operation: Operation<Path, Query, Body>): Operation<Path, Query, Body> {
  return operation;
}

/** An operation of any schemas, as tables hold it. */
// Handlers take what their schemas give: no common type of calls fits all, so the table erases it.
export interface AnyOperation extends Omit<Operation, 'handle' | 'check'> {
  check?(call: Call<never, never, never>): void;
  handle(
    services: Services,
    call: Call<never, never, never>,
    workflow: WorkflowRow | undefined,
  ): Promise<Reply>;
}
