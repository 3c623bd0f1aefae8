// A process that a test kills: `node notified-process.ts OPTIONS`, where OPTIONS is AgentProcess as JSON. Its workflow waits for
// a person, after a notification that appends the address to `effects`. If `stop` is `notified`, it kills itself between the
// end of that call and the pause. With `engine` it runs the workflow and prints the output of the pause; with `worker` it works
// until its input ends.
import { appendFileSync, existsSync } from 'node:fs';
import { blocks } from '@heddle/blocks';
import { createEngine, isEngineError } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { createWorker } from '@heddle/temporal';
import { NOTIFYING } from './killed.ts';
import type { AgentProcess } from './killed.ts';
import { teller } from './notifications.ts';

const RUN_ID = 'notifying-run';
const { effects, stop, ...where } = JSON.parse(process.argv[2] ?? '') as AgentProcess;

const options = {
  // The address is read again when the pause shows it, after its tools have been called.
  pauseLinks: ({ token }: { token: string }) => {
    if (stop === 'notified' && existsSync(effects)) process.kill(process.pid, 'SIGKILL');
    return { url: `https://heddle.test/resume/${token}` };
  },
  blocks: blocks({
    tools: [
      teller(({ text }) => {
        appendFileSync(effects, `${text as string}\n`);
        return Promise.resolve(null);
      }),
    ],
  }),
};

/** Starts the run or continues it, and returns the output of its pause. */
async function runToItsPause(): Promise<Json> {
  const engine = await createEngine({ ...options, ...where.engine });
  await engine.deploy(NOTIFYING);
  const run = await engine.attach(RUN_ID).catch((error: unknown) => {
    if (isEngineError(error) && error.code === 'RUN_NOT_FOUND')
      return engine.start('notifying', {}, { runId: RUN_ID });
    throw error;
  });
  await run.result();
  const { pauses } = await engine.getRun(RUN_ID);
  await engine.close();
  return pauses[0]?.output ?? null;
}

if (where.worker) {
  const worker = await createWorker({ ...options, ...where.worker });
  process.stdin.on('end', () => void worker.stop({ drainMs: 0, killMs: 2000 }));
  process.stdin.resume();
} else process.stdout.write(`${JSON.stringify(await runToItsPause())}\n`);
