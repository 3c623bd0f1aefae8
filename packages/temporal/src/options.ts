import type { EngineOptions } from '@heddle/engine';
import type { SharedStores } from '@heddle/engine/stores';
import type { Encryption } from './encryption.ts';
import type { Profile } from './messages.ts';

/** How to reach a Temporal server. */
export interface ServerOptions {
  /** `host:port`; default `127.0.0.1:7233`. */
  address?: string;
  /** Default `default`. */
  namespace?: string;
  /** API key of Temporal Cloud; turns TLS on. */
  apiKey?: string;
  /** TLS, and with certificates mutual TLS; each in PEM. */
  tls?: boolean | { ca?: Buffer; certificate?: Buffer; key?: Buffer; serverName?: string };
}

/** Where runs are recorded: all workers and clients of a deployment name the same place. */
export type StoreOptions =
  /** A data folder, for processes of one machine. */
  | { data: string }
  /** A PostgreSQL database: `postgresql://user:password@host:port/database`. */
  | { postgres: string }
  /** Stores that are open; they are not closed. */
  | { stores: SharedStores };

/** How runs are run. Workers and clients of a deployment agree on it. */
export interface DeploymentOptions {
  /** Task queues begin with this; default `heddle`. */
  queue?: string;
  /** `segment` (default): blocks that only compute are fused; `block`: every block has an activity of its own. */
  checkpoint?: Profile['checkpoint'];
  /** Fused blocks run within the workflow task, where that is quick; default true. False: sandboxes are on workers of their own. */
  local?: boolean;
  /** Activities of one run that may be under way at once; default 200. */
  window?: number;
  /** Commands after which a run continues in a new history; default 1,500. */
  budget?: number;
  /** Encrypts what the server keeps; default: it is kept in the open. */
  encryption?: Encryption;
  /** Runs are found on the server by search attributes; default: where they are registered (`registerSearchAttributes`). */
  attributes?: boolean;
}

/** What a worker takes on. */
export type Role = 'engine' | 'effects' | 'segments';

/** How much a worker takes on at once. */
export interface WorkerTuning {
  /** Default: all of them. */
  roles?: readonly Role[];
  /** Workflows kept in memory, at least 2; default from the memory that the process may use. */
  cachedWorkflows?: number;
  /** Activities at once; default 100. */
  activities?: number;
  /** Which version of a worker deployment this is: runs stay on the version that has begun them. Default: no versions. */
  version?: { deployment: string; build: string };
}

/** What blocks run with: the options of an engine, but where runs are and what is stored. */
export type BlockOptions = Omit<EngineOptions, 'runtime' | 'data' | 'postgres' | 'durability' | 'takeUp'>;

const DEFAULTS = { queue: 'heddle', checkpoint: 'segment', local: true, window: 200, budget: 1500 } as const;

/** The profile that runs of this deployment are started with. `attributes`: runs have search attributes. */
export function profileOf(options: DeploymentOptions, attributes = false): Profile {
  const { queue, checkpoint, local, window, budget, encryption } = { ...DEFAULTS, ...options };
  return {
    checkpoint,
    local: local && checkpoint === 'segment',
    // On the queue of the workflows, the worker that has begun a segment is the one that goes on with it.
    queues: {
      segments: local ? queuesOf(queue).engine : queuesOf(queue).segments,
      effects: queuesOf(queue).effects,
    },
    window,
    budget,
    ...(attributes && { attributes }),
    ...(encryption && { sealed: true }),
  };
}

/** The task queues of a deployment. */
export function queuesOf(queue: string = DEFAULTS.queue): { [role in Role]: string } {
  return { engine: queue, effects: `${queue}-effects`, segments: `${queue}-segments` };
}
