// A process with a block that emits: `node emitter-process.ts FOLDER`. For each message except "emit", it starts a run
// and sends the id of the run. On "emit", the block of the oldest waiting run emits the time in nanoseconds. Without
// FOLDER, the process responds to each message with the time.
import { createEngine } from '@heddle/engine';
import { EMITTER_WORKFLOW, emitterBlock } from './emitter.ts';

const folder = process.argv[2];
const emitCallbacks: (() => void)[] = [];
process.on('disconnect', () => process.exit());

if (folder === undefined)
  process.on('message', () => process.send?.({ time: String(process.hrtime.bigint()) }));
else {
  const engine = await createEngine({
    data: folder,
    blocks: [emitterBlock(() => new Promise((resolve) => emitCallbacks.push(resolve)))],
  });
  process.on('message', (message) => {
    if (message === 'emit') emitCallbacks.shift()?.();
    else void engine.start({ workflow: EMITTER_WORKFLOW }).then(({ runId }) => process.send?.({ runId }));
  });
}
process.send?.({ ready: true });
