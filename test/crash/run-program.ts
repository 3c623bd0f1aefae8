// A process that a test kills: `node run-program.ts DATA EFFECTS STOP`. It starts or continues a run, answers every
// pause until the run ends, and prints each checkpoint that the run reaches. At the checkpoint STOP (`E.1`, `paused.0`
// …) it blocks forever. Each execution of an effect appends its idempotency key to the file EFFECTS.
import { appendFileSync } from 'node:fs';
import { createEngine, isEngineError } from '@heddle/engine';
import type { Engine, RunHandle } from '@heddle/engine';
import type { BlockExecutor, BlockResult } from '@heddle/core/blocks';
import { RUN_ID, WORKFLOW } from './killed-run.ts';

const [, , dataFolder = '', effectsFile = '', stopCheckpoint = ''] = process.argv;

/** Prints the checkpoint. Never resolves at the checkpoint where the process is to be killed. */
async function reportCheckpoint(checkpoint: string): Promise<void> {
  process.stdout.write(`${checkpoint}\n`);
  if (checkpoint === stopCheckpoint) await new Promise(() => undefined);
}

const effectExecutor: BlockExecutor = {
  types: ['effect'],
  class: 'effect',
  async execute({ block, scope, idempotencyKey, fields }): Promise<BlockResult> {
    appendFileSync(effectsFile, `${idempotencyKey}\n`);
    await reportCheckpoint(`${block.name}.${scope.join('.')}`);
    return { output: { blockName: block.name, ...fields() } };
  },
};

async function startOrAttach(engine: Engine): Promise<RunHandle | undefined> {
  try {
    return await engine.attach(RUN_ID);
  } catch (error) {
    if (!isEngineError(error)) throw error;
    if (error.code === 'RUN_NOT_FOUND') return engine.start('loop', {}, { runId: RUN_ID });
    return undefined;
  }
}

const engine = await createEngine({ data: dataFolder, blocks: [effectExecutor] });
await engine.deploy(WORKFLOW);
const run = await startOrAttach(engine);
while (run && (await run.result()).status === 'paused') {
  const [pause] = (await engine.getRun(RUN_ID)).pauses;
  if (!pause) continue;
  await reportCheckpoint(`paused.${pause.scope.join('.')}`);
  process.stdout.write(`resuming.${pause.scope.join('.')}\n`);
  await engine.resume(RUN_ID, { token: pause.token, input: { n: pause.scope[0] ?? 0 } });
}
await engine.close();
process.stdout.write('ended\n');
