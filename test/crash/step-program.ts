// A process that a test kills in a step: `node step-program.ts DATA EFFECTS STOP`. A block executes five steps; those
// with even numbers are idempotent. Each step appends its key to EFFECTS and prints it. At the key STOP the process
// blocks forever.
import { appendFileSync } from 'node:fs';
import { isBlockError } from '@heddle/core';
import { createEngine, isEngineError } from '@heddle/engine';
import type { BlockContext, BlockExecutor } from '@heddle/core/blocks';
import { workflow } from '../support/workflow.ts';

const RUN_ID = 'stepped-run';
const [, , dataFolder = '', effectsFile = '', stopKey = ''] = process.argv;

/** Executes one step. Returns `unknown` if the step may have taken effect before the process was killed. */
async function executeStep(context: BlockContext, number: number): Promise<string> {
  const key = `${number}`;
  const work = async (): Promise<string> => {
    appendFileSync(effectsFile, `${key}\n`);
    process.stdout.write(`${key}\n`);
    if (key === stopKey) await new Promise(() => undefined);
    return 'done';
  };
  try {
    return await context.step(key, work, { idempotent: number % 2 === 0 });
  } catch (error) {
    if (isBlockError(error) && error.code === 'STEP_OUTCOME_UNKNOWN') return 'unknown';
    throw error;
  }
}

const stepsExecutor: BlockExecutor = {
  types: ['stepped'],
  class: 'effect',
  async execute(context) {
    const steps: string[] = [];
    for (const number of [1, 2, 3, 4, 5]) steps.push(await executeStep(context, number));
    return { output: { steps } };
  },
};

const engine = await createEngine({ data: dataFolder, blocks: [stepsExecutor] });
await engine.deploy(
  workflow([{ name: 'A', type: 'stepped', fields: {}, properties: {} }], ['Start -> A'], { id: 'stepped' }),
);
const run = await engine.attach(RUN_ID).catch((error: unknown) => {
  if (isEngineError(error) && error.code === 'RUN_NOT_FOUND')
    return engine.start('stepped', {}, { runId: RUN_ID });
  throw error;
});
const { output } = await run.result();
await engine.close();
process.stdout.write(`${JSON.stringify(output)}\n`);
