import type { EngineOptions } from '@heddle/engine';
import type { SharedStores } from '@heddle/engine/stores';
import type { Encryption } from './encryption.ts';
import type { Profile } from './messages.ts';

/** The connection to a Temporal server. */
export interface ServerOptions {
  /** `host:port`; default `127.0.0.1:7233`. */
  address?: string;
  /** Default `default`. */
  namespace?: string;
  /** API key of Temporal Cloud; turns TLS on. */
  apiKey?: string;
  /** TLS, or mutual TLS with certificates in PEM format. */
  tls?: boolean | { ca?: Buffer; certificate?: Buffer; key?: Buffer; serverName?: string };
}

/** The stores of runs. All workers and clients of a deployment use the same stores. */
export type StoreLocation =
  /** A data folder, for processes on one machine. */
  | { data: string }
  /** A PostgreSQL database: `postgresql://user:password@host:port/database`. */
  | { postgres: string }
  /** Open stores. They are not closed. */
  | { stores: SharedStores };

/** Options for the execution of runs. All workers and clients of a deployment use the same values. */
export interface DeploymentOptions {
  /** Prefix of the task queues; default `heddle`. */
  taskQueue?: string;
  /** `segment` (default): compute blocks share activities; `block`: every block has its own. */
  checkpoint?: Profile['checkpoint'];
  /**
   * Segments (compute blocks that share one activity) run within the workflow task while they are short. False: workers
   * of the role `segments` run all of them. Default true.
   */
  localSegments?: boolean;
  /** Maximum number of concurrent activities of one run; default 200. */
  maxActivitiesPerRun?: number;
  /** Commands after which a run continues as new; default 1,500. */
  continueAsNewAfter?: number;
  /** Encrypts payloads on the server; default: none. */
  encryption?: Encryption;
  /** Runs have search attributes on the server; default: true if they are registered (`registerSearchAttributes`). */
  searchAttributes?: boolean;
}

/** The kind of work that a worker does: workflow tasks and local activities, effect blocks, or compute blocks. */
export type ProcessRole = 'engine' | 'effects' | 'segments';

/** The kinds of work that a worker does, and its limits. */
export interface WorkerTuning {
  /** Default: all. */
  roles?: readonly ProcessRole[];
  /** Workflows cached in memory, at least 2; default: derived from the memory limit of the process. */
  maxCachedWorkflows?: number;
  /** Maximum number of concurrent activities of each role, without local activities; default 100. */
  maxConcurrentActivities?: number;
  /** The version of a worker deployment. Runs stay on the version that started them. Default: unversioned. */
  version?: { deployment: string; build: string };
}

/** Options of an engine for running blocks, without those for runtime and storage. */
export type BlockOptions = Omit<EngineOptions, 'runtime' | 'data' | 'postgres' | 'durability' | 'recover'>;

const DEFAULTS = {
  taskQueue: 'heddle',
  checkpoint: 'segment',
  localSegments: true,
  maxActivitiesPerRun: 200,
  continueAsNewAfter: 1500,
} as const;

/** Returns the profile with which this deployment starts runs. `hasSearchAttributes`: runs have search attributes. */
export function profileOf(options: DeploymentOptions, hasSearchAttributes = false): Profile {
  const { taskQueue, checkpoint, localSegments, encryption, ...limits } = { ...DEFAULTS, ...options };
  return {
    checkpoint,
    local: localSegments && checkpoint === 'segment',
    // On the workflows' own queue, the worker that started a segment also continues it.
    queues: {
      segments: localSegments ? queuesOf(taskQueue).engine : queuesOf(taskQueue).segments,
      effects: queuesOf(taskQueue).effects,
    },
    window: limits.maxActivitiesPerRun,
    budget: limits.continueAsNewAfter,
    ...(hasSearchAttributes && { attributes: true }),
    ...(encryption && { sealed: true }),
  };
}

/** Returns the task queues of a deployment. */
export function queuesOf(queue: string = DEFAULTS.taskQueue): { [role in ProcessRole]: string } {
  return { engine: queue, effects: `${queue}-effects`, segments: `${queue}-segments` };
}
