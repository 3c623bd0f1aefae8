// A process that a test kills: `node process.ts OPTIONS`, where OPTIONS is StreamingProcessOptions as JSON. With
// `engine` it starts or continues the run `talk-run`; with `worker` it polls for tasks until its input ends. It prints
// a line before each word of block T, and before the word with the index `killBeforeWord` it waits to be killed.
import { createEngine, isEngineError } from '@heddle/engine';
import { createWorker } from '@heddle/temporal';
import type { StreamingProcessOptions } from './talk-process.ts';
import { TALK_WORKFLOW, createTalkExecutor } from './talk.ts';

const { killBeforeWord: killIndex, ...options } = JSON.parse(
  process.argv[2] ?? '',
) as StreamingProcessOptions;

const blocks = [
  createTalkExecutor(async (index, blockName) => {
    if (blockName !== 'T') return;
    // Earlier words are published a few milliseconds after they are emitted.
    if (index === killIndex) await new Promise((resolve) => setTimeout(resolve, 100));
    process.stdout.write(`${index}\n`);
    if (index === killIndex) await new Promise(() => undefined);
  }),
];

if (options.worker) {
  const worker = await createWorker({ blocks, ...options.worker });
  process.stdin.on('end', () => void worker.stop({ drainMs: 0, killMs: 2000 }));
  process.stdin.resume();
} else {
  const engine = await createEngine({ blocks, ...options.engine });
  const run = await engine.attach('talk-run').catch((error: unknown) => {
    if (isEngineError(error) && error.code === 'RUN_NOT_FOUND')
      return engine.start({ workflow: TALK_WORKFLOW }, {}, { runId: 'talk-run' });
    throw error;
  });
  await run.result();
  await engine.close();
}
