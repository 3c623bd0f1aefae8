import { setFlagsFromString } from 'node:v8';
import type { Order, Report, RunOrder } from '../protocol.ts';
import { Execution, type Floor } from './execution.ts';
import { Isolates, type IsolatedVm } from './isolates.ts';

declare const GUEST_SOURCE: string;
declare const require: (file: string) => { ivm: IsolatedVm };

/** Run once in a context that is thrown away, so that the code behind these globals is in the snapshot compiled. */
const WARM_UP =
  '__heddle(() => undefined)("run", "function", 0, 1, "return [URL, Buffer, Event, fetch, crypto]", 0)';

/**
 * What V8 does for each fresh context and no guest needs: hashing the snapshot anew (it is made with the seed that all
 * processes get at their start), and parts of what guests are not given anyway. V8 passes over names that it does not know.
 */
const CONTEXT_FLAGS = [
  '--no-rehash-snapshot',
  '--enable-sharedarraybuffer-per-context',
  '--no-experimental-wasm-jspi',
  '--no-js-atomics-pause',
];

const vm = require(process.argv[2] as string).ivm;
const executions = new Map<number, Execution>();
const inbox: RunOrder[] = [];
/** Whether the loop has not turned since a context was made: an order that is there already has waited for it. */
let preparing = false;
const late = new Set<number>();
/** The job whose code the supervisor takes to be running. */
let announced = 0;
let scheduled = false;
let served = 0;
let rssMiB = 0;

const send = (report: Report): void => void process.send?.(report);

function boot(order: Extract<Order, { t: 'boot' }>): void {
  let snapshot = null;
  let copy;
  if (order.snapshot === null) {
    copy = vm.Isolate.createSnapshot([{ code: GUEST_SOURCE }], WARM_UP);
    snapshot = new Uint8Array(copy.copy());
  } else {
    const { buffer, byteOffset, byteLength } = order.snapshot;
    copy = new vm.ExternalCopy(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
  }
  for (const flag of CONTEXT_FLAGS) setFlagsFromString(flag);
  floor.isolates = new Isolates(vm, copy, order.memoryMiB);
  floor.isolates.prepare();
  send({ t: 'ready', snapshot });
}

const floor: { -readonly [K in keyof Floor]: Floor[K] } = {
  isolates: undefined as never,
  busyMs: 0,
  send,
  announce(id) {
    if (id === announced || executions.size + inbox.length < 2) return;
    announced = id;
    send({ t: 'enter', id });
  },
  ended(execution, report) {
    executions.delete(execution.id);
    announced = inbox[0]?.id ?? 0;
    if (served++ % 32 === 0) rssMiB = process.memoryUsage.rss() / 2 ** 20;
    send({ t: 'done', ...report, late: late.delete(execution.id), next: announced, rssMiB });
    schedule();
  },
};

/** One job per turn of the event loop, so that cancellations, answers and timers come between. */
function turn(): void {
  scheduled = false;
  const order = inbox.shift();
  if (order === undefined) {
    preparing = true;
    floor.isolates.prepare();
    setImmediate(() => (preparing = false));
    return;
  }
  const execution = new Execution(order, floor);
  executions.set(order.id, execution);
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

process.on('message', (order: Order) => {
  switch (order.t) {
    case 'boot':
      return boot(order);
    case 'run':
      inbox.push(order);
      if (preparing) late.add(order.id);
      return schedule();
    case 'answer':
      return executions.get(order.id)?.deliver(order);
    case 'cancel':
      return cancel(order.id);
    case 'release':
      return floor.isolates.release(order.key);
  }
});
process.on('disconnect', () => process.exit(0));
