import type { Json } from '@heddle/core';
import type { ResolvedChild } from '@heddle/engine';
import type { Limiter } from './admission/limiter.ts';
import type { InputLimits } from './admission/input-limits.ts';
import type { CapacityLimits } from './admission/capacity.ts';
import type { Concurrency, Usage } from './admission/usage.ts';
import type { RunErrorCode } from './areas/runs/schemas.ts';
import type { Capability, Principal, Role } from './auth/principal.ts';
import type { ApiDetailCode } from './errors.ts';

/** The properties of a stored workflow that the API reads. Its graphs of blocks are not among them. */
export interface Definition {
  id: string;
  workspaceId: string;
  /** The deployed version that runs start from; absent: the workflow is not deployed. */
  liveVersion?: number | undefined;
  /** True if unauthenticated callers may run the live version. */
  isPublic?: boolean;
  /** True for an archived workflow. Only operations whose resource has `includesArchived` find it. */
  isArchived?: boolean;
}

/** Finds workflows. */
export interface Definitions {
  find(workflowId: string): Promise<Definition | undefined>;
  /** Returns the draft as an exported workflow. Absent: there are no drafts, so manual runs are refused. */
  findDraft?(workflowId: string): Promise<Json | undefined>;
  /**
   * Returns the live version of the workflow to which `reference`, an id or a name, refers in the workspace of the
   * workflow `callerWorkflowId`. Give the engine the same function as its `resolveChild`.
   */
  resolveChild: (callerWorkflowId: string, reference: string) => Promise<ResolvedChild | undefined>;
  /** Returns the workspace of a workflow. Give the engine the same function as its `tenant`. */
  tenant: (workflowId: string) => Promise<string | undefined>;
}

/**
 * `concealed`: the caller gets a 404, because it must not learn that the workspace or organization exists. A code: the
 * caller gets a 403 with this code as its reason.
 */
export type AccessDecision = 'granted' | 'concealed' | ApiDetailCode;

/** The access of users. A workspace key has access to its own workspace without a check. */
export interface Access {
  /**
   * Tells whether the caller, a user, has at least this role in the workspace, and the capability if the operation
   * names one. The host maps these roles to its own roles. Returns PERMISSION_GROUP_CAPABILITY_BLOCKED if the host
   * blocks the capability.
   */
  check(
    principal: Principal,
    workspaceId: string,
    role: Role,
    capability?: Capability,
  ): Promise<AccessDecision>;
  /**
   * Tells whether the caller, a user, has at least this role in the organization (`read`: members, `admin`: admins),
   * and the capability if the operation names one. Absent: `createApi` refuses operations on organizations.
   */
  checkOrganization?(
    principal: Principal,
    organizationId: string,
    role: Role,
    capability?: Capability,
  ): Promise<AccessDecision>;
  /**
   * Returns the workspaces of a user. If a request names a run but no workspace, the run is searched in them. Absent:
   * no workspace is searched.
   */
  listWorkspaceIds?(principal: Principal): Promise<readonly string[]>;
}

/** The reason why a run was not started. `CANCELLED`: it was cancelled in the queue. */
export interface ReservationFailure {
  reason: RunErrorCode;
  message: string;
}

/** A reserved run id. */
export interface Reservation {
  /** The engine's id of the run, unique over all workspaces. */
  engineRunId: string;
  /** The id that the caller chose, else the engine's; unique within the workspace. */
  runId: string;
  workflowId: string;
  workspaceId: string;
  trigger: 'api' | 'manual' | 'schedule' | 'webhook' | 'event' | 'feed' | 'chat' | 'form';
  mode: 'sync' | 'async' | 'stream';
  /** ISO 8601. */
  createdAt: string;
  /** True if the run waits in the queue. */
  isQueued: boolean;
  /** The reason why the run was not started. */
  failure?: ReservationFailure | undefined;
}

export type NewReservation = Omit<Reservation, 'isQueued' | 'failure'>;

/** Run ids of workspaces. A reservation is permanent, unless its run was never created. */
export interface Reservations {
  /** Reserves the ids of a new run. Returns false if the workspace has used the run id before. */
  reserve(reservation: NewReservation): Promise<boolean>;
  /** Frees the id of a run that was never created. */
  release(engineRunId: string): Promise<void>;
  /** Records why the run was not started. The id stays used. */
  fail(engineRunId: string, failure: ReservationFailure): Promise<void>;
  /** Returns the reservations with these ids of the engine, by id. */
  findByEngineRunIds(engineRunIds: readonly string[]): Promise<ReadonlyMap<string, Reservation>>;
  /** Returns the reservations of a run id in these workspaces. */
  findByRunId(runId: string, workspaceIds: readonly string[]): Promise<readonly Reservation[]>;
  /** Absent: asynchronous runs are refused. */
  queue?: StartQueue;
}

/** The parameters of a queued run. */
export interface QueuedStart {
  input: Json;
  /** The deployed version. */
  version: number;
  /** Id of the block at which the run begins; absent: the version's default. */
  start?: string;
  timeoutMs?: number;
  /** The chain of workflows that called this run: ids, the outermost caller first. */
  via?: string[];
  /**
   * True if the files of the run's input are recorded with the run as their owner. Absent: the run was queued by an
   * earlier Heddle version, which did not record owners.
   */
  ownsFiles?: true;
}

/** A run in the queue. */
export interface QueuedRun {
  engineRunId: string;
  runId: string;
  workflowId: string;
  /** Queued runs of different workspaces are started in turn. */
  workspaceId: string;
  start: QueuedStart;
}

/** The stored queue of asynchronous runs. When a process dies, another process starts its runs. */
export interface StartQueue {
  /** Queues the run of a reserved id. */
  add(engineRunId: string, start: QueuedStart): Promise<void>;
  /**
   * Returns the queued runs, oldest first. With `reservedBefore`, in ISO 8601: only those reserved before that time.
   */
  list(reservedBefore?: string): Promise<QueuedRun[]>;
  /**
   * Removes the run from the queue: it was started or cancelled, or it failed to start. Returns false if it is not in
   * the queue.
   */
  remove(engineRunId: string, failure?: ReservationFailure): Promise<boolean>;
}

/** The runs of unauthenticated callers, so that the host can delete them. */
export interface PublicRuns {
  /** Tells whether a workspace may have public workflows. */
  allows(workspaceId: string): Promise<boolean> | boolean;
  /** Records a run before it starts. `createdAt` is in ISO 8601. */
  add(engineRunId: string, createdAt: string): Promise<void>;
  /** Records the keys of the files stored for the run. */
  addFiles(engineRunId: string, keys: readonly string[]): Promise<void>;
  /** Deletes the record of a run that was not started, unless files are stored for it. */
  release(engineRunId: string): Promise<void>;
}

/** An action on a resource. */
export interface AuditEvent {
  action: string;
  /** Undefined: it concerns no workspace. */
  workspaceId: string | undefined;
  resourceType: string;
  resourceId: string;
  details?: object | undefined;
  principal: Principal;
}

/** An event that was recorded before its action. */
export interface PreparedEvent {
  /** Marks the event as done, after the action. */
  confirm(): Promise<void>;
  /** Removes the event of an action that did not happen. */
  abort(): Promise<void>;
}

/** Records actions. */
export interface Audit {
  /** Records the event, in the transaction if there is one: then both are stored, or neither. */
  record(event: AuditEvent, transaction?: unknown): Promise<void>;
  /**
   * Records the event of an action that no transaction covers, before the action. If the process ends in between, the
   * event stays, with the outcome `intended`. Absent: such events are recorded after the action, and a process that
   * ends in between loses them.
   */
  prepare?(event: AuditEvent): Promise<PreparedEvent>;
}

/** Time limits of runs, in seconds. Absent: no limit. */
export interface RunTimeouts {
  syncSeconds?: number;
  asyncSeconds?: number;
}

/** Limits of requests and runs. An absent limit does not apply, unless it has a default. */
export interface Limits {
  /** Rates of requests. */
  rate?: Limiter;
  /** Accounts for the cost of runs and refuses runs whose cost cannot be reserved. */
  usage?: Usage;
  /** Limits the runs and calls in flight. */
  concurrency?: Concurrency;
  /**
   * Executions in flight in this process: in total (default 500), per caller (default half of the total), and per
   * workspace (default three quarters). A plain number sets the total.
   */
  capacity?: number | Partial<CapacityLimits>;
  /**
   * Maximum body size in bytes of individual operations, by the id of the operation. Can only lower the limits of the
   * operation.
   */
  bodyBytes?: { readonly [operationId: string]: number };
  /** Time limits of runs. */
  timeouts?: RunTimeouts;
  /** Input limits of unauthenticated callers. Default: 1 MiB, 10,000 values, 5 files of 10 MiB in total. */
  publicInputLimits?: Partial<InputLimits>;
}

/** The ports of an API. Only `definitions` and `access` are required. */
export interface Ports {
  definitions: Definitions;
  access: Access;
  /** Default: in the memory of this process, without a queue. */
  reservations?: Reservations;
  /** Absent: public workflows cannot be run without a credential. */
  publicRuns?: PublicRuns;
  /** Default: nothing is recorded. */
  audit?: Audit;
  limits?: Limits;
}
