// Runs a workflow from a file and stores the run in ./.heddle: `node examples/embed/embed.ts`
import { readFile } from 'node:fs/promises';
import { createEngine } from '@heddle/engine';

const workflow: unknown = JSON.parse(
  await readFile(new URL('../order-triage.json', import.meta.url), 'utf8'),
);
const engine = await createEngine({ data: './.heddle' });
const run = await engine.execute({ workflow }, { orderId: 'B-2002', country: 'BR' });
process.stdout.write(`${run.status}: ${JSON.stringify(run.output, null, 2)}\n`);
await engine.close();
