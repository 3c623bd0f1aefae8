// A process to be killed: `node agent-process.ts OPTIONS`, where OPTIONS is AgentProcess as JSON. Its agent calls a tool in each
// of four rounds; each call appends its number to `effects` and prints it, and at `stop` the process waits to be killed. With
// `engine` it runs the workflow and prints the output; with `worker` it works until its input ends.
import { appendFileSync } from 'node:fs';
import { blocks } from '@heddle/blocks';
import { createEngine, isEngineError } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { createWorker } from '@heddle/temporal';
import { COUNTING } from './killed.ts';
import type { AgentProcess } from './killed.ts';

const RUN_ID = 'agent-run';
const { url, effects, stop, models = {}, ...where } = JSON.parse(process.argv[2] ?? '') as AgentProcess;

const options = {
  services: { local: url },
  blocks: blocks({
    ...models,
    tools: [
      {
        id: 'count',
        description: 'Counts.',
        parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        idempotent: true,
        async run({ n }) {
          const number = JSON.stringify(n);
          appendFileSync(effects, `${number}\n`);
          process.stdout.write(`${number}\n`);
          if (number === stop) await new Promise(() => undefined);
          return { counted: n ?? null };
        },
      },
    ],
  }),
};

/** Starts the run, or continues it, and returns its output. */
async function runToItsEnd(): Promise<Json> {
  const engine = await createEngine({ ...options, ...where.engine });
  await engine.deploy(COUNTING);
  const run = await engine.attach(RUN_ID).catch((error: unknown) => {
    if (isEngineError(error) && error.code === 'RUN_NOT_FOUND')
      return engine.start('counting', {}, { runId: RUN_ID });
    throw error;
  });
  const { output } = await run.result();
  await engine.close();
  return output ?? null;
}

if (where.worker) {
  const worker = await createWorker({ ...options, ...where.worker });
  process.stdin.on('end', () => void worker.stop({ drainMs: 0, killMs: 2000 }));
  process.stdin.resume();
} else process.stdout.write(`${JSON.stringify(await runToItsEnd())}\n`);
