// A process to be killed: `node agent-process.ts DATA MODEL_URL EFFECTS STOP`. Its agent calls a tool in each of four rounds;
// each call appends its number to EFFECTS and prints it, and at STOP the process waits to be killed.
import { appendFileSync } from 'node:fs';
import { blocks } from '@heddle/blocks';
import { createEngine, isEngineError } from '@heddle/engine';
import { block, workflow } from '../support/workflow.ts';

const RUN_ID = 'agent-run';
const [, , data = '', url = '', effects = '', stop = ''] = process.argv;

const engine = await createEngine({
  data,
  services: { local: url },
  blocks: blocks({
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
});
const agent = block('A', 'agent', {
  model: 'local/scripted',
  messages: [{ role: 'user', content: 'Count to four.' }],
  tools: [{ type: 'count' }],
});
await engine.deploy(workflow([agent], ['Start -> A'], { id: 'counting' }));
const run = await engine.attach(RUN_ID).catch((error: unknown) => {
  if (isEngineError(error) && error.code === 'RUN_NOT_FOUND')
    return engine.start('counting', {}, { runId: RUN_ID });
  throw error;
});
const { output } = await run.result();
await engine.close();
process.stdout.write(`${JSON.stringify(output)}\n`);
