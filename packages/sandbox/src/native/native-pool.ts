import { realpathSync } from 'node:fs';
import { findUnreadablePath } from '../isolation/users.ts';
import { toStartFailure, warnOperator } from '../start-failure.ts';
import { createFailure } from '../outcome.ts';
import type { Job } from '../pool/job.ts';
import { Meter, type EndReason, type PoolMetrics } from '../pool/meter.ts';
import { FairQueue } from '../pool/queue.ts';
import { toRawOutcome } from './raw-outcome.ts';
import type { NativeHost } from './host.ts';
import { toNativeJob } from './job.ts';
import { JAIL_PATHS, jailEnvironment } from './layout.ts';
import type { NativeLimits } from './limits.ts';
import { ProcessTreeOutput } from './output.ts';
import type { EgressProxy, ProxyOptions } from './proxy.ts';
import { kernelCpuSeconds, runProcessTree, type ProcessTreeEnd } from './process-tree.ts';

export interface NativePoolOptions {
  readonly host: NativeHost;
  /** Maximum number of process trees at the same time. */
  readonly maxProcesses: number;
  readonly maxQueued: number;
  readonly maxQueuedPerTenant: number;
  readonly queueTimeoutMs: number;
  readonly limits: NativeLimits;
  /** Returns how the requests of a job are sent. */
  readonly egressOptionsOf: (job: Job) => Pick<ProxyOptions, 'send' | 'resolveTarget'>;
}

/** Upper bounds: an error's name, message and stack as JSON with escapes; the UTF-8 bytes of a character. */
const ERROR_BYTES = 128 * 1024;
const CHAR_BYTES = 4;

/** Returns whether other users can read a path. Otherwise warns the operator, naming the folder that prevents it. */
function checkReadable(path: string): boolean {
  const folder = findUnreadablePath(realpathSync(path));
  if (folder !== undefined)
    warnOperator(`Sandbox users cannot access ${folder}, which contains the images: chmod o+x ${folder}.`);
  return folder === undefined;
}

/** Returns the reason why the processes of a job ended, for the metrics. */
function reasonOf({ stopReason, exitCode }: ProcessTreeEnd): EndReason {
  if (stopReason === 'cancelled') return 'cancelled';
  if (stopReason !== undefined) return 'limit';
  return exitCode === null ? 'died' : 'finished';
}

/** Opens a proxy. Its module, with Node.js's HTTP server, is loaded on first use: it doubles the loading time. */
async function openProxy(options: ProxyOptions): Promise<EgressProxy> {
  const { EgressProxy } = await import('./proxy.ts');
  return EgressProxy.open(options);
}

/** Runs each job as a separate process tree. Tenants take turns. */
export class NativePool {
  readonly #options: NativePoolOptions;
  readonly #queue = new FairQueue();
  readonly #meter = new Meter();
  readonly #runningJobs = new Map<Job, Promise<void>>();
  #isClosed = false;

  constructor(options: NativePoolOptions) {
    this.#options = options;
  }

  get counts(): { processes: number; queued: number; running: number } {
    return { processes: this.#runningJobs.size, queued: this.#queue.size, running: this.#runningJobs.size };
  }

  get metrics(): PoolMetrics {
    return this.#meter.metrics;
  }

  submit(job: Job): void {
    if (this.#isClosed) return job.fail('SANDBOX_UNAVAILABLE', 'The sandbox is closed.');
    const { queueTimeoutMs } = this.#options;
    const refusal = this.#queue.refusalOf(job, this.#options);
    if (refusal !== undefined) return job.fail('SANDBOX_BUSY', refusal);
    this.#queue.add(job);
    const timer = setTimeout(() => {
      if (this.#queue.remove(job))
        job.fail(
          'SANDBOX_BUSY',
          `The job waited ${queueTimeoutMs} ms for its turn; raise native.maxProcesses or queueTimeoutMs.`,
        );
    }, queueTimeoutMs);
    job.onEnd(() => clearTimeout(timer));
    this.#pump();
  }

  /** Cancels a job, whether queued or running, and ends all its processes. */
  cancel(job: Job): void {
    this.#queue.remove(job);
    job.end({ failure: createFailure('CANCELLED', 'The job was cancelled.') });
    job.stopController.abort();
  }

  /** Does nothing, like the next two methods: no process outlives its job. */
  warm(): void {}

  endEarlyProcesses(): void {}

  release(): void {}

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const tenant of this.#queue.tenants())
      for (const job of this.#queue.heads(tenant)) this.#failQueuedJobs(job);
    for (const job of this.#runningJobs.keys()) {
      job.fail('SANDBOX_UNAVAILABLE', 'The sandbox was closed.');
      job.stopController.abort();
    }
    await Promise.all(this.#runningJobs.values());
  }

  /** Fails the queued jobs of a tenant with the pool key of `firstJob`. */
  #failQueuedJobs(firstJob: Job): void {
    for (let job: Job | undefined = firstJob; job !== undefined;) {
      this.#queue.remove(job);
      job.fail('SANDBOX_UNAVAILABLE', 'The sandbox was closed.');
      job = this.#queue.heads(firstJob.tenant).find(({ poolKey }) => poolKey === firstJob.poolKey);
    }
  }

  /**
   * Returns the next job to start: tenants take turns. If the limit is reached, a tenant without a running job may
   * still start one, up to twice the limit, because scripts can take minutes and are never preempted.
   */
  #nextJob(): Job | undefined {
    const { maxProcesses } = this.#options;
    const tenants = this.#queue.tenants();
    const runningJobs = [...this.#runningJobs.keys()];
    const isIdle = (tenant: string): boolean => runningJobs.every((job) => job.tenant !== tenant);
    const isFull = runningJobs.length >= maxProcesses;
    const tenant = isFull ? tenants.find(isIdle) : tenants[0];
    if (tenant === undefined || runningJobs.length >= 2 * maxProcesses) return undefined;
    return this.#queue.heads(tenant)[0];
  }

  #pump(): void {
    for (let job = this.#nextJob(); job !== undefined && !this.#isClosed; job = this.#nextJob()) {
      const nextJob = job;
      this.#queue.take(nextJob);
      this.#meter.recordQueueTime(nextJob.queuedAtMs);
      const completion = this.#run(nextJob)
        .catch((error: unknown) => {
          this.#meter.recordProcessEnd('failed');
          nextJob.end({ failure: toStartFailure(error, nextJob.image) });
        })
        .finally(() => {
          this.#runningJobs.delete(nextJob);
          this.#pump();
        });
      this.#runningJobs.set(nextJob, completion);
    }
  }

  #recordEnd(end: ProcessTreeEnd): void {
    this.#meter.recordCompletedJob({ ...end, rssMiB: end.peakMemoryMiB });
    this.#meter.recordProcessEnd(this.#isClosed ? 'closed' : reasonOf(end));
  }

  async #run(job: Job): Promise<void> {
    const { host, limits: nativeLimits, egressOptionsOf } = this.#options;
    const nativeJob = toNativeJob(job);
    if ('refusal' in nativeJob) return job.fail('INPUT_TOO_LARGE', nativeJob.refusal);
    const rootfs = job.image?.blobs['rootfs']?.path;
    if (rootfs === undefined) return job.fail('IMAGE_FAILED', 'The image has no root file system.');
    const confinement = await host.getConfinement();
    if (confinement.uids !== undefined && !checkReadable(rootfs))
      return job.fail(
        'SANDBOX_UNAVAILABLE',
        'Sandbox users cannot access the folder of the images; see the log of the host.',
      );
    if (job.hasEnded) return;
    const { cpuMs, wallMs, resultChars, hostCalls, bridgeChars } = job.limits;
    const proxy =
      hostCalls === 0
        ? undefined
        : await openProxy({ ...egressOptionsOf(job), maxRequests: hostCalls, maxBytes: bridgeChars });
    const output = new ProcessTreeOutput(job.limits, job.kind === 'shell');
    try {
      const end = await runProcessTree(confinement, {
        jail: {
          rootfs,
          execPath: host.execPath,
          command: [JAIL_PATHS.node, `${JAIL_PATHS.boot}/boot.cjs`],
          environment: jailEnvironment(proxy !== undefined),
          limits: nativeLimits,
          cpuSeconds: kernelCpuSeconds(cpuMs),
          proxy: proxy?.path,
        },
        job: JSON.stringify(nativeJob),
        limits: {
          cpuMs,
          wallMs,
          resultBytes: CHAR_BYTES * resultChars + ERROR_BYTES,
          outputBytes: bridgeChars,
        },
        signal: job.stopController.signal,
        onOutput: (data, stream) => output.add(data, stream),
      });
      this.#recordEnd(end);
      job.end(toRawOutcome(job, end, output, nativeLimits));
    } finally {
      await proxy?.close();
    }
  }
}
