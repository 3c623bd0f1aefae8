import { settleCall } from '../calls.ts';
import { installConsole } from '../console.ts';
import { connect, reopen, send } from '../channel.ts';
import { define, apply, NativeUint8Array, NativePromise } from '../primordials.ts';
import { sendError } from '../report.ts';
import { fireTimer, installTimers, onMicrotaskError } from '../timers.ts';
import { installWebGlobals } from '../web/install.ts';
import { evaluate, makeSnapshot, readFile, start, type Runtime } from './interpreter.ts';
import { installRequest, installXhr } from './xhr.ts';
import { installStartupGlobals, type StartupFiles } from './startup-globals.ts';
import { bytesOf } from '../web/bytes.ts';

/** Maximum number of turns of Python's event loop in one invocation (a call to `enter`); later turns run as timers. */
const TURNS_PER_INVOCATION = 64;

let turnCount = 0;

function resetTurnCount(): void {
  turnCount = 0;
}

/**
 * The channel with which Pyodide's event loop schedules its turns. Turns run in the same invocation, since a round trip
 * through the process costs a millisecond. Their number is limited, so that timers and answers of the host run in
 * between.
 */
class Channel {
  readonly port1: { onmessage: (() => void) | null } = { onmessage: null };
  readonly port2 = {
    postMessage: (): void => {
      const runTurn = (): void => this.port1.onmessage?.();
      if (++turnCount <= TURNS_PER_INVOCATION) void NativePromise.resolve().then(runTurn);
      else setTimeout(runTurn, 0);
    },
  };
}

/** Installs MessageChannel. Its messages only schedule turns; they have no content. */
function installMessageChannel(): void {
  define(globalThis, 'MessageChannel', Channel);
}

/**
 * Random bytes are fetched in blocks: Python requests a few at a time, and the number of messages to the process is
 * limited.
 */
const POOL_BYTES = 16_384;
const MAX_POOLED_BYTES = 256;

type GetRandomValues = <T extends ArrayBufferView>(view: T) => T;

/** Replaces `crypto.getRandomValues` with a version that serves small requests from a pool. No byte is used twice. */
function installRandomPool(): void {
  const { crypto } = globalThis as unknown as { crypto: { getRandomValues: GetRandomValues } };
  const { getRandomValues } = crypto;
  const pool = new NativeUint8Array(POOL_BYTES);
  let nextIndex = POOL_BYTES;
  const getPooledValues: GetRandomValues = (view) => {
    const bytes = bytesOf(view, 'The argument of getRandomValues()');
    if (bytes.length > MAX_POOLED_BYTES) return apply(getRandomValues, crypto, [view]) as typeof view;
    if (nextIndex + bytes.length > POOL_BYTES) {
      apply(getRandomValues, crypto, [pool]);
      nextIndex = 0;
    }
    for (let i = 0; i < bytes.length; i++) {
      bytes[i] = pool[nextIndex] as number;
      pool[nextIndex++] = 0;
    }
    return view;
  };
  define(crypto, 'getRandomValues', getPooledValues);
}

/** The arguments of `enter`. */
type InvocationArgs =
  | [kind: 'boot']
  | [kind: 'snapshot']
  | [kind: 'evaluate', code: string]
  | [kind: 'read', path: string]
  | [kind: 'run', mode: 'function', ...args: (string | number)[]]
  | [kind: 'timer', id: number]
  | [kind: 'answer', id: number, ok: boolean, head: string, body: string];

let runtime: Runtime | undefined;
let startupFiles: StartupFiles | undefined;

/** Starts the interpreter. Sends a message for success or for the error. */
async function boot(): Promise<void> {
  try {
    const files = startupFiles as StartupFiles;
    // Allows 40 MB to be freed once the interpreter has started.
    startupFiles = undefined;
    installStartupGlobals(files);
    installRandomPool();
    runtime = await start(files);
    send('D');
  } catch (error) {
    sendError('run', -1, error);
  }
}

/** Runs a job. An error thrown here does not come from the job's code; it ends the interpreter. */
function run(args: InvocationArgs): void {
  reopen();
  try {
    runtime?.start(...(args.slice(2) as (string | number)[]));
  } catch (error) {
    send('Q');
    // There was not enough memory for Python to report this itself.
    const isOutOfMemory = (error as { type?: unknown } | null)?.type === 'MemoryError';
    sendError(isOutOfMemory ? 'memory' : 'run', -1, error);
  }
}

/** Serves the requests of image and snapshot builders. */
function serveBuilder(args: Extract<InvocationArgs, ['snapshot'] | ['evaluate' | 'read', string]>): unknown {
  if (args[0] === 'evaluate') return evaluate(args[1]);
  return args[0] === 'read' ? readFile(args[1]) : makeSnapshot();
}

/** The process calls this to run code in this realm, and measures the time of every call (an invocation). */
function enter(...args: InvocationArgs): unknown {
  resetTurnCount();
  try {
    if (args[0] === 'run') run(args);
    else if (args[0] === 'timer') fireTimer(args[1]);
    else if (args[0] === 'answer') settleCall(args[1], args[2], args[3], args[4]);
    else if (args[0] === 'boot') void boot();
    else return serveBuilder(args);
  } catch (error) {
    send('Q');
    sendError('run', -1, error);
  }
  return undefined;
}

/** Connects a new context: `post` sends messages to the process. Returns the function that the process calls. */
function connectContext(
  post: (message: string) => unknown,
  ...[wasm, stdlib, snapshot, site]: [ArrayBuffer, ArrayBuffer, ArrayBuffer | null, ArrayBuffer | null]
): typeof enter {
  delete (globalThis as { __heddle?: unknown }).__heddle;
  connect(post);
  startupFiles = { wasm, stdlib, snapshot, site };
  return enter;
}

onMicrotaskError((error) => sendError('run', -1, error));
installConsole();
installTimers();
installMessageChannel();
installWebGlobals();
installXhr();
installRequest();
define(globalThis, '__heddle', connectContext);
