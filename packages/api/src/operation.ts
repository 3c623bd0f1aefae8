import type * as z from 'zod';
import type { Capability, Principal, PrincipalKind, Role, Scope } from './auth/principal.ts';
import type { ErrorStatus } from './errors.ts';
import type { Resource } from './resource.ts';

/** The successful result of an operation: data for the envelope, a page of a list, or its own response. */
export type Reply =
  | { status?: number; headers?: { [name: string]: string }; data: unknown }
  | { status?: number; headers?: { [name: string]: string }; page: unknown[]; nextCursor: string | null }
  | { raw: Response };

/** What an operation records. */
export interface Recorded {
  /** Default: the only action of the operation. */
  action?: string;
  resourceId: string;
  /** Default: the workspace of the operation's resource. */
  workspaceId?: string;
  /** Default: that of the operation. */
  resourceType?: string;
  details?: object;
}

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
  /** `https://host` of this deployment with the base path of the interface, for absolute URLs. */
  origin: string;
  /** The path below which the interface is served, for URLs without an origin; empty by default. */
  basePath: string;
  /**
   * Records what the operation has done, in `transaction` if there is one. Throws a TypeError for an action that the
   * operation does not declare.
   */
  record: (recorded: Recorded, transaction?: unknown) => Promise<void>;
  /**
   * Does what no transaction covers, such as actions of the engine, and records it: before, as intended, and after as done. A
   * refusal, and a result that `happened` denies, records nothing. Returns the result.
   */
  recordAround: <Result>(
    recorded: Recorded,
    act: () => Promise<Result>,
    happened?: (result: Result) => boolean,
  ) => Promise<Result>;
}

/** One row of the operation table. Routes, access checks, OpenAPI and tests read it. */
export interface Operation<
  Services = unknown,
  Value = unknown,
  Path extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
> {
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From the base path on, with `{name}` for parameters. */
  path: string;
  tag: string;
  summary: string;
  /** Who may call it. `anonymous`: callers without a credential, on public workflows. */
  principals: readonly (PrincipalKind | 'anonymous')[];
  scope: Scope;
  /** What a person needs in the workspaces of the resource. Workspace keys can never have the role `admin`. */
  role: Role;
  /** What a host can withhold from people in a workspace, whatever their role. */
  capability?: Capability;
  /** What it acts on. The caller's access to its workspaces is checked before the handler runs. */
  resource: Resource<Value, Services>;
  /** Belongs to the older interface: errors are `{error: text, details?}`, and responses have no envelope. */
  legacy?: true;
  params: Path;
  query: Query;
  /** Query keys that may be sent several times. */
  repeatable?: readonly string[];
  /** JSON, unless the schema is one of `bytesBody` or `formBody`. */
  body?: Body;
  /** The body may be left out. */
  bodyOptional?: true;
  success: { status: number; schema: z.ZodType; page?: true; description: string }[];
  /** Successful responses other than JSON: media type and content. */
  streams?: { type: string; description: string }[];
  /** Describes responses that the caller's workflow decides over, which may have any status, media type and body. */
  ownResponses?: string;
  errors: readonly ErrorStatus[];
  /** It runs a workflow: the call chain is checked, and the call takes a capacity slot until it ends. */
  executes?: true;
  /** What it records when it succeeds. Absent: nothing. */
  audit?: { resourceType: string; actions: readonly string[] } | undefined;
  /** Checks rules between fields, before anything is looked up. */
  check?(call: Call<z.output<Path>, z.output<Query>, z.output<Body>>): void;
  handle(
    services: Services,
    call: Call<z.output<Path>, z.output<Query>, z.output<Body>>,
    value: Value,
  ): Promise<Reply>;
}

/** An operation of any schemas, as tables hold it. */
// Handlers take what their own schemas, resource and area produce. No common type fits all of them, so the table erases it.
export interface AnyOperation extends Omit<Operation, 'handle' | 'check' | 'resource'> {
  resource: Resource<unknown, never>;
  check?(call: Call<never, never, never>): void;
  handle(services: never, call: Call<never, never, never>, value: never): Promise<Reply>;
}

/** Returns a function that defines the operations of an area, with the types of their schemas and resources. */
export function operationsOf<Services>() {
  return <
    Value,
    const Path extends z.ZodObject,
    const Query extends z.ZodObject,
    const Body extends z.ZodType,
  >(
    operation: Operation<Services, Value, Path, Query, Body>,
  ): Operation<Services, Value, Path, Query, Body> => operation;
}
