import { deliver } from '../calls.ts';
import { installConsole } from '../console.ts';
import { connect, reopen, send } from '../link.ts';
import { define } from '../primordials.ts';
import { sendError } from '../report.ts';
import { fire, installTimers, onMicrotaskError } from '../timers.ts';
import { installWebGlobals } from '../web/install.ts';
import { poolRandomValues } from './chance.ts';
import { installHops, resetHops } from './hops.ts';
import { evaluate, makeSnapshot, readFile, start, type Runtime } from './interpreter.ts';
import { installRequest } from './request.ts';
import { installShell, type Files } from './shell.ts';
import { installXhr } from './xhr.ts';

type Entry =
  | [kind: 'boot']
  | [kind: 'snapshot']
  | [kind: 'evaluate', code: string]
  | [kind: 'read', path: string]
  | [kind: 'run', mode: 'function', ...args: (string | number)[]]
  | [kind: 'timer', id: number]
  | [kind: 'answer', id: number, ok: boolean, head: string, body: string];

let runtime: Runtime | undefined;
let given: Files | null = null;

/** Starts the interpreter; `D` or `E` tells the process how that went. */
async function boot(): Promise<void> {
  try {
    const files = given as Files;
    // Forty megabytes that nothing needs any more once the interpreter stands.
    given = null;
    installShell(files);
    poolRandomValues();
    runtime = await start(files);
    send('D');
  } catch (error) {
    sendError('run', -1, error);
  }
}

/** Runs a job; what it throws is no error of its code but the end of the interpreter. */
function run(args: Entry): void {
  reopen();
  try {
    runtime?.start(...(args.slice(2) as (string | number)[]));
  } catch (error) {
    send('Q');
    // It had not even the memory to tell so itself.
    const isShort = (error as { type?: unknown } | null)?.type === 'MemoryError';
    sendError(isShort ? 'memory' : 'run', -1, error);
  }
}

/** What the makers of snapshots ask for. */
function make(entry: Extract<Entry, ['snapshot'] | ['evaluate' | 'read', string]>): unknown {
  if (entry[0] === 'evaluate') return evaluate(entry[1]);
  return entry[0] === 'read' ? readFile(entry[1]) : makeSnapshot();
}

/** One entry into the realm; every use is timed by the process. */
function enter(...entry: Entry): unknown {
  resetHops();
  try {
    if (entry[0] === 'run') run(entry);
    else if (entry[0] === 'timer') fire(entry[1]);
    else if (entry[0] === 'answer') deliver(entry[1], entry[2], entry[3], entry[4]);
    else if (entry[0] === 'boot') void boot();
    else return make(entry);
  } catch (error) {
    send('Q');
    sendError('run', -1, error);
  }
  return undefined;
}

/** Called once per fresh context with the only way out; gives the only way in. */
function connectTo(
  post: (message: string) => unknown,
  ...[wasm, stdlib, snapshot, site]: [ArrayBuffer, ArrayBuffer, ArrayBuffer | null, ArrayBuffer | null]
): typeof enter {
  delete (globalThis as { __heddle?: unknown }).__heddle;
  connect(post);
  given = { wasm, stdlib, snapshot, site };
  return enter;
}

onMicrotaskError((error) => sendError('run', -1, error));
installConsole();
installTimers();
installHops();
installWebGlobals();
installXhr();
installRequest();
define(globalThis, '__heddle', connectTo);
