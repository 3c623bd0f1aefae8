import type { ChildRequest, ChildMessage, RunRequest } from '../protocol.ts';
import { Execution, type ProcessContext } from './execution.ts';
import type { Realms } from './realms.ts';

/** Returns the resident memory of the process in MiB. Without /proc, as in strict isolation, the peak. */
function measureRssMiB(): number {
  try {
    return process.memoryUsage.rss() / 2 ** 20;
  } catch {
    return process.resourceUsage().maxRSS / 1024;
  }
}

type BootRequest = Extract<ChildRequest, { t: 'boot' }>;

/** The result of booting a program. */
export interface BootResult {
  readonly realms: Realms;
  /** The snapshot that it made for later processes. */
  readonly snapshot?: Uint8Array | undefined;
}

const executions = new Map<number, Execution>();
const queue: RunRequest[] = [];
/** True if a realm was just prepared and the event loop has not turned since: requests that arrived had to wait. */
let isPreparing = false;
/** Ids of the jobs that had to wait for their realm. */
const coldStartIds = new Set<number>();
/** The job that the supervisor believes to be running. */
let reportedJobId = 0;
let isScheduled = false;
let completedJobCount = 0;
let rssMiB = 0;

/** Number of jobs between measurements of the process size. */
let jobsPerMeasurement = 32;

const send = (message: ChildMessage): void => void process.send?.(message);

const processContext: { -readonly [K in keyof ProcessContext]: ProcessContext[K] } = {
  realms: undefined as never,
  busyMs: 0,
  send,
  reportEntered(id) {
    if (id === reportedJobId || executions.size + queue.length < 2) return;
    reportedJobId = id;
    send({ t: 'enter', id });
  },
  reportEnd(id, report) {
    executions.delete(id);
    reportedJobId = queue[0]?.id ?? 0;
    if (completedJobCount++ % jobsPerMeasurement === 0) rssMiB = measureRssMiB();
    send({ t: 'done', ...report, waitedForContext: coldStartIds.delete(id), next: reportedJobId, rssMiB });
    scheduleNextJob();
  },
};

/** Starts one job per iteration of the event loop, so that cancellations, answers and timers run in between. */
function startNextJob(): void {
  isScheduled = false;
  const request = queue.shift();
  if (request === undefined) {
    isPreparing = true;
    processContext.realms.prepare();
    setImmediate(() => (isPreparing = false));
    return;
  }
  const execution = new Execution(request, processContext);
  executions.set(request.id, execution);
  if (!execution.isPrebuilt) coldStartIds.add(request.id);
  execution.start();
  if (queue.length > 0) scheduleNextJob();
}

function scheduleNextJob(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(startNextJob);
}

function cancel(id: number): void {
  const position = queue.findIndex((request) => request.id === id);
  if (position >= 0) queue.splice(position, 1);
  else executions.get(id)?.stop('CANCELLED', 'The job was cancelled.');
}

/** Serves the supervisor's requests. `boot` prepares the program when the first of them arrives. */
export function serve(
  boot: (request: BootRequest) => BootResult,
  options: { jobsPerMeasurement?: number } = {},
): void {
  jobsPerMeasurement = options.jobsPerMeasurement ?? jobsPerMeasurement;
  process.on('message', (request: ChildRequest) => {
    switch (request.t) {
      case 'boot': {
        const { realms, snapshot } = boot(request);
        processContext.realms = realms;
        return send({ t: 'ready', snapshot: snapshot ?? null });
      }
      case 'run':
        queue.push(request);
        if (isPreparing) coldStartIds.add(request.id);
        return scheduleNextJob();
      case 'answer':
        return executions.get(request.id)?.deliver(request);
      case 'cancel':
        return cancel(request.id);
      case 'release':
        processContext.realms.release(request.key);
        return scheduleNextJob();
    }
  });
  process.on('disconnect', () => process.exit(0));
}
