// A process that a test kills: `node approved-process.ts OPTIONS`, where OPTIONS is AgentProcess as JSON. Its agent makes one
// payment, which the process approves; the payment is appended to `effects`. At `stop` the process prints it and waits to be
// killed: `answered` is between the answer and the call, `paid` in the call. With `engine` it runs the workflow and prints the
// output; with `worker` it works until its input ends.
import { appendFileSync } from 'node:fs';
import { blocks } from '@heddle/blocks';
import { createEngine, isEngineError } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { createWorker } from '@heddle/temporal';
import { PAYING } from './killed.ts';
import type { AgentProcess } from './killed.ts';

const RUN_ID = 'paying-run';
const { url, effects, stop, ...where } = JSON.parse(process.argv[2] ?? '') as AgentProcess;

async function reach(point: string): Promise<void> {
  process.stdout.write(`${point}\n`);
  if (point === stop) await new Promise(() => undefined);
}

/** Every attempt of the agent first looks up its key, including the attempt after an approval in this process. */
let attempts = 0;

const options = {
  services: { openai: url },
  tenantCredentials: {
    async find() {
      if (++attempts > 1) await reach('answered');
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
          appendFileSync(effects, `${JSON.stringify(args)}\n`);
          await reach('paid');
          return { paid: args };
        },
      },
    ],
  }),
};

/** Starts the run or continues it, approves its payment, and returns its output. */
async function runToItsEnd(): Promise<Json> {
  const engine = await createEngine({ ...options, ...where.engine });
  await engine.deploy(PAYING);
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

if (where.worker) {
  const worker = await createWorker({ ...options, ...where.worker });
  process.stdin.on('end', () => void worker.stop({ drainMs: 0, killMs: 2000 }));
  process.stdin.resume();
} else process.stdout.write(`${JSON.stringify(await runToItsEnd())}\n`);
