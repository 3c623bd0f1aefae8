// A process whose block emits: `node token-process.ts FOLDER`. For each message it starts a run, and sends its id. The block
// emits one text, the time in nanoseconds, once the reader has sent another message. Without FOLDER it sends the time itself.
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
