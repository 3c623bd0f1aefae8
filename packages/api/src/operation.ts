import type * as z from 'zod';
import type { Principal, Role, Scope } from './auth/principal.ts';
import type { ErrorStatus } from './errors.ts';
import type { Services } from './services.ts';
import type { WorkflowRow } from './store/schema.ts';

/** The successful result of an operation: data for the envelope, a page of a list, or a response of its own. */
export type Reply =
  | { status?: number; headers?: { [name: string]: string }; data: unknown }
  | { status?: number; headers?: { [name: string]: string }; page: unknown[]; nextCursor: string | null }
  | { raw: Response };

/** An admitted call: the caller and the validated input. */
export interface Call<Path, Query, Body> {
  principal: Principal;
  path: Path;
  query: Query;
  body: Body;
  headers: Headers;
  /** Aborted when the client has closed the connection. */
  signal: AbortSignal;
  /** The response body is not sent: nothing is read for it, nor recorded as read. */
  head?: boolean;
  /** `https://host` of this deployment, for absolute URLs. */
  origin: string;
}

/** What an operation acts on. The caller's access to its workspace is checked before the handler runs. */
export type Resource = 'workflow' | 'workspaceInQuery' | 'workspaceInBody' | 'none';

/** One row of the operation table. Routes, access checks, OpenAPI and tests read it. */
export interface Operation<
  Path extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
> {
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From the origin on, with `{name}` for parameters. */
  path: string;
  tag: string;
  summary: string;
  scope: Scope;
  role: Role;
  /** Whether workspace keys may call it. */
  workspaceKeys: boolean;
  resource: Resource;
  /** Belongs to the older interface: errors are `{error: text, details?}`, and responses have no envelope. */
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
  /** Successful responses other than JSON: media type and content. */
  streams?: { type: string; description: string }[];
  errors: readonly ErrorStatus[];
  /** It runs a workflow: the call chain is checked, and the call takes a capacity slot until it ends. */
  executes?: true;
  /** Callers without a credential may call it on public workflows. */
  public?: true;
  /** Checks rules between fields, before anything is looked up. */
  check?(call: Call<z.output<Path>, z.output<Query>, z.output<Body>>): void;
  handle(
    services: Services,
    call: Call<z.output<Path>, z.output<Query>, z.output<Body>>,
    workflow: WorkflowRow | undefined,
  ): Promise<Reply>;
}

/** Returns the operation with the types of its schemas. */
export function defineOperation<
  const Path extends z.ZodObject,
  const Query extends z.ZodObject,
  const Body extends z.ZodType,
>(operation: Operation<Path, Query, Body>): Operation<Path, Query, Body> {
  return operation;
}

/** An operation of any schemas, as the table holds it. */
// Handlers take what their own schemas produce. No common call type fits all of them, so the table erases it.
export interface AnyOperation extends Omit<Operation, 'handle' | 'check'> {
  check?(call: Call<never, never, never>): void;
  handle(
    services: Services,
    call: Call<never, never, never>,
    workflow: WorkflowRow | undefined,
  ): Promise<Reply>;
}
