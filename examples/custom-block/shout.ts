// A block type with typed fields and output: `node examples/custom-block/shout.ts`
import { createEngine, defineBlock } from '@heddle/engine';
import { z } from 'zod';
import workflow from './shout.json' with { type: 'json' };

const shout = defineBlock({
  type: 'shout',
  input: z.object({ text: z.string().min(1), times: z.coerce.number().int().min(1).default(1) }),
  output: z.object({ shouted: z.string() }),
  run: ({ text, times }) => ({ shouted: `${text.toUpperCase()}!`.repeat(times) }),
});
const engine = await createEngine({ blocks: [shout] });
const run = await engine.execute({ workflow }, { who: 'weaver' });
process.stdout.write(`${JSON.stringify(run.output)}\n`);
await engine.close();
