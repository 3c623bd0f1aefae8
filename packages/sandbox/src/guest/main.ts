import type { GuestMode } from '../protocol.ts';
import { settleCall } from './calls.ts';
import { installConsole } from './console.ts';
import { defineModules } from './modules.ts';
import { connect } from './channel.ts';
import { defineTemporaryGlobal } from './primordials.ts';
import { sendError } from './report.ts';
import { run } from './run.ts';
import { fireTimer, installTimers, onMicrotaskError } from './timers.ts';
import { fixBufferSizes, installWebGlobals, removeBuiltIns } from './web/install.ts';

/** The arguments of `enter`. */
type InvocationArgs =
  | [kind: 'run', mode: GuestMode, ...args: (string | number)[]]
  | [kind: 'timer', id: number]
  | [kind: 'answer', id: number, ok: boolean, head: string, body: string];

/** The process calls this to run code in this realm, and measures the time of every call (an invocation). */
function enter(...args: InvocationArgs): void {
  try {
    if (args[0] === 'run') void run(args[1], args);
    else if (args[0] === 'timer') fireTimer(args[1]);
    else settleCall(args[1], args[2], args[3], args[4]);
  } catch (error) {
    sendError('run', -1, error);
  }
}

/** Connects a new context: `post` sends messages to the process. Returns the function that the process calls. */
function boot(post: (message: string) => unknown): typeof enter {
  bootGlobal.close();
  removeBuiltIns();
  connect(post);
  return enter;
}

removeBuiltIns();
fixBufferSizes();
onMicrotaskError((error) => sendError('run', -1, error));
installConsole();
installTimers();
installWebGlobals();
defineModules();
const bootGlobal = defineTemporaryGlobal('__heddle', boot);
