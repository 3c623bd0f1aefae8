// A process that a test kills: `node notification-process.ts OPTIONS`; OPTIONS is JSON (see `killable-process.ts`). Its
// workflow waits for a person, after a notification that appends the URL of the pause to `effectsFile`. If `stopPoint`
// is `notified`, the process kills itself between the end of that notification and the pause. With `engine` it runs the
// workflow and prints the output of the pause; with `worker` it is a worker until its stdin ends.
import { appendFileSync, existsSync } from 'node:fs';
import { blocks } from '@heddle/blocks';
import { createEngine, isEngineError } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { createWorker } from '@heddle/temporal';
import { NOTIFICATION_WORKFLOW } from './killable-process.ts';
import type { AgentProcessOptions } from './killable-process.ts';
import { notificationTool } from './notifications.ts';

const RUN_ID = 'notifying-run';
const { effectsFile, stopPoint, ...runtimeOptions } = JSON.parse(
  process.argv[2] ?? '',
) as AgentProcessOptions;

const options = {
  // The URL is requested again when the pause opens, after its notifications have been sent.
  pauseLinks: ({ token }: { token: string }) => {
    if (stopPoint === 'notified' && existsSync(effectsFile)) process.kill(process.pid, 'SIGKILL');
    return { url: `https://heddle.test/resume/${token}` };
  },
  blocks: blocks({
    tools: [
      notificationTool(({ text }) => {
        appendFileSync(effectsFile, `${text as string}\n`);
        return Promise.resolve(null);
      }),
    ],
  }),
};

/** Starts the run or continues it, and returns the output of its pause. */
async function runUntilPaused(): Promise<Json> {
  const engine = await createEngine({ ...options, ...runtimeOptions.engine });
  await engine.deploy(NOTIFICATION_WORKFLOW);
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

if (runtimeOptions.worker) {
  const worker = await createWorker({ ...options, ...runtimeOptions.worker });
  process.stdin.on('end', () => void worker.stop({ drainMs: 0, killMs: 2000 }));
  process.stdin.resume();
} else process.stdout.write(`${JSON.stringify(await runUntilPaused())}\n`);
