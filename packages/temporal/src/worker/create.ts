import { createHost, RemoteRuns, requireIsolation } from '@heddle/engine/runtime';
import type { RuntimeParts } from '@heddle/engine/runtime';
import type { SharedStores } from '@heddle/engine/stores';
import { Launcher } from '../client/launcher.ts';
import { Stragglers } from '../client/stragglers.ts';
import { openDeployment } from '../deployment.ts';
import type { Deployment } from '../deployment.ts';
import type { OnSealed } from '../encryption.ts';
import type {
  BlockOptions,
  DeploymentOptions,
  ServerOptions,
  StoreOptions,
  WorkerTuning,
} from '../options.ts';
import { storesOf } from '../stores.ts';
import { Crew } from './crew.ts';
import type { StopOptions } from './crew.ts';
import { openEndpoint } from './endpoint.ts';
import type { Endpoint, EndpointOptions } from './endpoint.ts';
import { statusOf } from './status.ts';
import type { WorkerStatus } from './status.ts';

export type WorkerOptions = ServerOptions &
  StoreOptions &
  DeploymentOptions &
  BlockOptions & {
    tuning?: WorkerTuning;
    /** Answers `/healthz` and `/metrics` there; default: nowhere. */
    http?: EndpointOptions;
    /** Path of a workflow bundle to use in place of the one that comes with this package. */
    bundle?: string;
  };

/** A worker that polls: it runs runs that others have started, until it is stopped. */
export interface HeddleWorker {
  /** Resolves when it has stopped; rejects with what has made it fail, once what it ran has stopped too. */
  readonly finished: Promise<void>;
  /** Where `/healthz` and `/metrics` are answered. */
  readonly url: string | undefined;
  /**
   * Stops it: it begins nothing new, blocks may finish for `drainMs` (default 10,000), are stopped then and what they have done is
   * handed in. Resolves when that is done, or after `killMs` (default 5,000) more, whatever hangs.
   */
  stop(options?: Partial<StopOptions>): Promise<void>;
  status(): WorkerStatus;
}

const STOP: StopOptions = { drainMs: 10_000, killMs: 5000 };

/**
 * A worker for the runs of a deployment, once it polls.
 *
 * Throws RUNTIME_UNREACHABLE, OPTIONS_INVALID, EXECUTOR_DUPLICATE, ISOLATION_TOO_LOW, and what the stores throw.
 */
export async function createWorker(options: WorkerOptions): Promise<HeddleWorker> {
  const stores = await storesOf(options, options.clock);
  const closing: (() => Promise<void> | void)[] = [() => stores.close()];
  const close = async (): Promise<void> => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    return await open(options, { stores, closing, close });
  } catch (error) {
    await close();
    throw error;
  }
}

interface Opening {
  stores: SharedStores;
  /** What has to be closed, in the order in which it was opened. */
  closing: (() => Promise<void> | void)[];
  close: () => Promise<void>;
}

async function open(options: WorkerOptions, { stores, closing, close }: Opening): Promise<HeddleWorker> {
  const { tuning = {}, bundle, http } = options;
  await requireIsolation(options);
  const host = createHost(stores, options);
  closing.push(() => host.close());
  const deployment = await openDeployment(options, sealedFor(host.parts));
  // A worker that hangs, or was never begun, holds the connection: it goes with the process.
  closing.push(() => deployment.connection.close().catch(() => undefined));
  const crew = await Crew.start(host.parts, { deployment, tuning, bundle });
  const worker = new RunningWorker(crew, close, () => host.parts.code.stats());
  closing.push(() => crew.stop({ drainMs: 0, killMs: STOP.killMs }).then(() => undefined));
  if (crew.roles.includes('engine')) closing.push(watchStragglers(host.parts, deployment));
  if (http) {
    const endpoint = await openEndpoint(http, () => worker.status());
    worker.endpoint = endpoint;
    closing.push(() => endpoint.close());
  }
  return worker;
}

/** Runs that nobody can decrypt say so in their records. */
export function sealedFor(parts: RuntimeParts): OnSealed {
  const runs = new RemoteRuns(parts);
  return (error, runId) => {
    parts.report(error, runId);
    if (runId !== undefined)
      runs.stand(runId, error.message).catch((fault: unknown) => parts.report(fault, runId));
  };
}

/** Takes up runs that were recorded and not started, until the returned function is called. */
export function watchStragglers(runtime: RuntimeParts, { client, queues, profile }: Deployment) {
  const launcher = new Launcher({ client, taskQueue: queues.engine, eager: false });
  const stragglers = new Stragglers({ runtime, launcher, profile });
  stragglers.watch();
  return (): Promise<void> => stragglers.stop();
}

class RunningWorker implements HeddleWorker {
  readonly finished: Promise<void>;
  endpoint: Endpoint | undefined;
  private readonly crew: Crew;
  private readonly sandbox: () => WorkerStatus['sandbox'];
  private state: 'running' | 'stopped' | 'failed' = 'running';

  constructor(crew: Crew, close: () => Promise<void>, sandbox: () => WorkerStatus['sandbox']) {
    this.crew = crew;
    this.sandbox = sandbox;
    this.finished = this.end(close);
    this.finished.catch(() => undefined);
  }

  get url(): string | undefined {
    return this.endpoint?.url;
  }

  async stop(options: Partial<StopOptions> = {}): Promise<void> {
    await this.crew.stop({ ...STOP, ...options });
    await this.finished.catch(() => undefined);
  }

  status(): WorkerStatus {
    const { crew, state } = this;
    const now = state === 'running' ? (crew.polling ? 'polling' : 'draining') : state;
    return statusOf(crew, now, this.sandbox());
  }

  private async end(close: () => Promise<void>): Promise<void> {
    try {
      await this.crew.finished;
      this.state = 'stopped';
    } catch (error) {
      this.state = 'failed';
      throw error;
    } finally {
      await close();
    }
  }
}
