// A process with a block that emits: `node token-process.ts FOLDER`. For each message it starts a run and sends its id. After the
// next message, the block emits the time in nanoseconds. Without FOLDER the process sends the time directly.
import { createEngine } from '@heddle/engine';
import { TOKEN_WORKFLOW, tokenBlock } from './token.ts';

const folder = process.argv[2];
const waiting: (() => void)[] = [];
process.on('disconnect', () => process.exit());

if (folder === undefined)
  process.on('message', () => process.send?.({ time: String(process.hrtime.bigint()) }));
else {
  const engine = await createEngine({
    data: folder,
    blocks: [tokenBlock(() => new Promise((resolve) => waiting.push(resolve)))],
  });
  process.on('message', (message) => {
    if (message === 'emit') waiting.shift()?.();
    else void engine.start({ workflow: TOKEN_WORKFLOW }).then(({ runId }) => process.send?.({ runId }));
  });
}
process.send?.({ ready: true });
