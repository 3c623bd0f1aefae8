import type { ChildRequest, ChildMessage, RunRequest } from '../protocol.ts';
import { Execution } from './execution.ts';
import type { ProcessContext } from './process-context.ts';
import type { Realms } from './realms.ts';

/** What the process has in memory, in MiB; without /proc, as in strict isolation, the most that it ever had. */
function measureRssMiB(): number {
  try {
    return process.memoryUsage.rss() / 2 ** 20;
  } catch {
    return process.resourceUsage().maxRSS / 1024;
  }
}

type Boot = Extract<ChildRequest, { t: 'boot' }>;

/** What a program has once it is ready. */
export interface Booted {
  readonly realms: Realms;
  /** What it made for the processes after it. */
  readonly snapshot: Uint8Array | null;
}

const executions = new Map<number, Execution>();
const inbox: RunRequest[] = [];
/** Whether the loop has not turned since a context was made: an order that is there already has waited for it. */
let preparing = false;
/** Jobs that waited while a context was made. */
const late = new Set<number>();
/** The job whose code the supervisor takes to be running. */
let announced = 0;
let scheduled = false;
let served = 0;
let rssMiB = 0;

/** How often the process looks at its own size, in jobs. */
let measureEvery = 32;

const send = (report: ChildMessage): void => void process.send?.(report);

const context: { -readonly [K in keyof ProcessContext]: ProcessContext[K] } = {
  realms: undefined as never,
  busyMs: 0,
  send,
  announce(id) {
    if (id === announced || executions.size + inbox.length < 2) return;
    announced = id;
    send({ t: 'enter', id });
  },
  ended(id, report) {
    executions.delete(id);
    announced = inbox[0]?.id ?? 0;
    if (served++ % measureEvery === 0) rssMiB = measureRssMiB();
    send({ t: 'done', ...report, late: late.delete(id), next: announced, rssMiB });
    schedule();
  },
};

/** One job per turn of the event loop, so that cancellations, answers and timers come between. */
function turn(): void {
  scheduled = false;
  const order = inbox.shift();
  if (order === undefined) {
    preparing = true;
    context.realms.prepare();
    setImmediate(() => (preparing = false));
    return;
  }
  const execution = new Execution(order, context);
  executions.set(order.id, execution);
  if (!execution.isAhead) late.add(order.id);
  execution.start();
  if (inbox.length > 0) schedule();
}

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  setImmediate(turn);
}

function cancel(id: number): void {
  const waiting = inbox.findIndex((order) => order.id === id);
  if (waiting >= 0) inbox.splice(waiting, 1);
  else executions.get(id)?.stop('CANCELLED', 'The job was cancelled.');
}

/** Serves the supervisor's orders; `boot` makes the program ready, with the first of them. */
export function serve(boot: (order: Boot) => Booted, options: { measureEvery?: number } = {}): void {
  measureEvery = options.measureEvery ?? measureEvery;
  process.on('message', (order: ChildRequest) => {
    switch (order.t) {
      case 'boot': {
        const { realms, snapshot } = boot(order);
        context.realms = realms;
        return send({ t: 'ready', snapshot });
      }
      case 'run':
        inbox.push(order);
        if (preparing) late.add(order.id);
        return schedule();
      case 'answer':
        return executions.get(order.id)?.deliver(order);
      case 'cancel':
        return cancel(order.id);
      case 'release':
        context.realms.release(order.key);
        return schedule();
    }
  });
  process.on('disconnect', () => process.exit(0));
}
