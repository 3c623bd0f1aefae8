// A process that a test kills: `node payment-process.ts OPTIONS`; OPTIONS is JSON (see `killable-process.ts`). Its
// agent makes one payment. The process approves the payment, and the tool records it in `effectsFile`. The process
// prints each point that it reaches, and waits to be killed at `stopPoint`: `answered` is after the approval and before
// the call of the tool, `paid` is in the call after the payment. With `engine` it runs the workflow and prints the
// output; with `worker` it is a worker until its stdin ends.
import { appendFileSync } from 'node:fs';
import { blocks } from '@heddle/blocks';
import { createEngine, isEngineError } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { createWorker } from '@heddle/temporal';
import { PAYMENT_WORKFLOW } from './killable-process.ts';
import type { AgentProcessOptions } from './killable-process.ts';

const RUN_ID = 'paying-run';
const { url, effectsFile, stopPoint, ...runtimeOptions } = JSON.parse(
  process.argv[2] ?? '',
) as AgentProcessOptions;

/** Prints the point, and waits to be killed if the process stops at it. */
async function reachPoint(point: string): Promise<void> {
  process.stdout.write(`${point}\n`);
  if (point === stopPoint) await new Promise(() => undefined);
}

/**
 * Number of attempts of the agent in this process. Each attempt first looks up the key, so the second lookup shows that
 * the call was approved.
 */
let attemptCount = 0;

const options = {
  services: { openai: url },
  tenantCredentials: {
    async find() {
      if (++attemptCount > 1) await reachPoint('answered');
      return {
        id: 'key',
        type: 'api_key' as const,
        provider: 'openai',
        name: 'Key',
        secret: 'key-of-openai',
      };
    },
  },
  blocks: blocks({
    tools: [
      {
        id: 'pay',
        description: 'Pays.',
        parameters: { type: 'object' },
        async run(args) {
          appendFileSync(effectsFile, `${JSON.stringify(args)}\n`);
          await reachPoint('paid');
          return { paid: args };
        },
      },
    ],
  }),
};

/** Starts the run or continues it, approves its payment, and returns its output. */
async function completeRun(): Promise<Json> {
  const engine = await createEngine({ ...options, ...runtimeOptions.engine });
  await engine.deploy(PAYMENT_WORKFLOW);
  const run = await engine.attach(RUN_ID).catch((error: unknown) => {
    if (isEngineError(error) && error.code === 'RUN_NOT_FOUND')
      return engine.start('paying', {}, { runId: RUN_ID });
    throw error;
  });
  let { status, output } = await run.result();
  if (status === 'paused')
    ({ status, output } = await engine.resume(RUN_ID, { input: { decision: 'approve' } }));
  await engine.close();
  return output ?? null;
}

if (runtimeOptions.worker) {
  const worker = await createWorker({ ...options, ...runtimeOptions.worker });
  process.stdin.on('end', () => void worker.stop({ drainMs: 0, killMs: 2000 }));
  process.stdin.resume();
} else process.stdout.write(`${JSON.stringify(await completeRun())}\n`);
