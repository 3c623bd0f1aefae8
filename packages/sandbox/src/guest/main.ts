import type { GuestMode } from '../protocol.ts';
import { deliver } from './calls.ts';
import { installConsole } from './console.ts';
import { defineModules } from './modules.ts';
import { connect } from './channel.ts';
import { defineTemporaryGlobal } from './primordials.ts';
import { sendError } from './report.ts';
import { run } from './run.ts';
import { fire, installTimers, onMicrotaskError } from './timers.ts';
import { fixBufferSizes, installWebGlobals, removeBuiltIns } from './web/install.ts';

type Entry =
  | [kind: 'run', mode: GuestMode, ...args: (string | number)[]]
  | [kind: 'timer', id: number]
  | [kind: 'answer', id: number, ok: boolean, head: string, body: string];

/** One entry into the realm; the process times every call. */
function enter(...entry: Entry): void {
  try {
    if (entry[0] === 'run') void run(entry[1], entry);
    else if (entry[0] === 'timer') fire(entry[1]);
    else deliver(entry[1], entry[2], entry[3], entry[4]);
  } catch (error) {
    sendError('run', -1, error);
  }
}

/** Connects a new context: `post` sends messages to the process. Returns the function with which the process enters. */
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
