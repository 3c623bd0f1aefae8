import type * as z from 'zod';
import type { Capability, Principal, PrincipalKind, Role, Scope } from './auth/principal.ts';
import type { ErrorStatus } from './errors.ts';
import type { Resource } from './resource.ts';

/** The successful result of an operation: data for the envelope, a page of a list, or a complete response. */
export type Reply =
  | { status?: number; headers?: { [name: string]: string }; data: unknown }
  | { status?: number; headers?: { [name: string]: string }; page: unknown[]; nextCursor: string | null }
  | { raw: Response };

/** An audit event that an operation records. */
export interface RecordedAction {
  /** Default: the only action of the operation. */
  action?: string;
  resourceId: string;
  /** Default: the workspace of the operation's resource. */
  workspaceId?: string;
  /** Default: the resource type of the operation. */
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
  /** True if the response body is not sent (HEAD): the handler then neither reads it nor records a read access. */
  isHead?: boolean;
  /** `https://host` of this deployment with the base path of the API, for absolute URLs. */
  origin: string;
  /** The path below which the API is served, for URLs without an origin; empty by default. */
  basePath: string;
  /**
   * Records the action of the operation, in `transaction` if there is one. Throws a TypeError for an action that the
   * operation does not declare.
   */
  recordAudit: (recordedAction: RecordedAction, transaction?: unknown) => Promise<void>;
  /**
   * Runs an action that no transaction covers, such as an action of the engine, and returns its result. Records the
   * action as intended before it runs, and as done after it has run. No event remains if the action is refused or
   * `hasTakenEffect` returns false.
   */
  runAudited: <Result>(
    recordedAction: RecordedAction,
    runAction: () => Promise<Result>,
    hasTakenEffect?: (result: Result) => boolean,
  ) => Promise<Result>;
}

/** The declaration of an operation. Routes, access checks, OpenAPI and tests read it. */
export interface Operation<
  Services = unknown,
  Value = unknown,
  Path extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
> {
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to the base path, with `{name}` for parameters. */
  path: string;
  tag: string;
  summary: string;
  /** Who may call it. `anonymous`: unauthenticated callers, on public workflows. */
  principals: readonly (PrincipalKind | 'anonymous')[];
  scope: Scope;
  /** The role that a user needs in the workspaces of the resource. Workspace keys can never have the role `admin`. */
  role: Role;
  /** The capability that a host can block for users in a workspace, whatever their role. */
  capability?: Capability;
  /** The resource that it acts on. The caller's access to its workspaces is checked before the handler runs. */
  resource: Resource<Value, Services>;
  /**
   * True if it belongs to the legacy API: errors are `{error: text, details?}`, and responses have no envelope.
   */
  legacy?: true;
  params: Path;
  query: Query;
  /** Query keys that may be sent several times. */
  repeatableQueryKeys?: readonly string[];
  /** JSON, unless the schema is one of `bytesBody` or `formBody`. */
  body?: Body;
  /** True if the body is optional. */
  bodyOptional?: true;
  success: { status: number; schema: z.ZodType; isPage?: true; description: string }[];
  /** Successful responses other than JSON: media type and content. */
  streams?: { type: string; description: string }[];
  /** Describes responses whose status, media type and body the caller's workflow decides. */
  workflowResponses?: string;
  errors: readonly ErrorStatus[];
  /** True if it runs a workflow: the call chain is checked, and the call takes a capacity slot until it ends. */
  executesWorkflow?: true;
  /** The audit actions that it records when it succeeds. Absent: none. */
  audit?: { resourceType: string; actions: readonly string[] } | undefined;
  /** Checks cross-field rules, before anything is looked up. */
  check?(call: Call<z.output<Path>, z.output<Query>, z.output<Body>>): void;
  handle(
    services: Services,
    call: Call<z.output<Path>, z.output<Query>, z.output<Body>>,
    value: Value,
  ): Promise<Reply>;
}

/** An operation with any schemas, for lists of operations. */
// Parameters of handlers depend on their schemas, resource and area. No common type fits all of them, so this type
// erases it.
export interface AnyOperation extends Omit<Operation, 'handle' | 'check' | 'resource'> {
  resource: Resource<unknown, never>;
  check?(call: Call<never, never, never>): void;
  handle(services: never, call: Call<never, never, never>, value: never): Promise<Reply>;
}

/** Returns a function that defines the operations of an area, with the types of their schemas and resources. */
export function operationFactory<Services>() {
  return <
    Value,
    const Path extends z.ZodObject,
    const Query extends z.ZodObject,
    const Body extends z.ZodType,
  >(
    operation: Operation<Services, Value, Path, Query, Body>,
  ): Operation<Services, Value, Path, Query, Body> => operation;
}
