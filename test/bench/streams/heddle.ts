import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEngine } from '@heddle/engine';
import { openFolderClient } from '@heddle/engine/reader';
import type { Contender, SelfMeasuringWorkload } from '../workload.ts';
import { measureDelay, createMedianDelayWorkload, EMITTER_WORKFLOW, emitterBlock } from './emitter.ts';

export const EMITTER_PROCESS = fileURLToPath(new URL('emitter-process.ts', import.meta.url));

async function createFirstTextWorkload(): Promise<SelfMeasuringWorkload> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  let emit = (): void => undefined;
  const waitForEmit = (): Promise<void> => new Promise((resolve) => (emit = resolve));
  const engine = await createEngine({ data: folder, blocks: [emitterBlock(waitForEmit)] });
  return createMedianDelayWorkload(
    async () => {
      const run = await engine.start({ workflow: EMITTER_WORKFLOW });
      const delayPromise = measureDelay(run.events(), () => undefined);
      // This does not wait for `block:started`, because the block may have started before the events are read.
      setImmediate(() => setImmediate(emit));
      return delayPromise;
    },
    async () => {
      await engine.close();
      rmSync(folder, { recursive: true });
    },
  );
}

async function createFirstTextInAnotherProcessWorkload(): Promise<SelfMeasuringWorkload> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const child = fork(EMITTER_PROCESS, [folder], { execArgv: ['--no-warnings'] });
  await once(child, 'message');
  const folderClient = openFolderClient(folder);
  return createMedianDelayWorkload(
    async () => {
      child.send('start');
      const [{ runId }] = (await once(child, 'message')) as [{ runId: string }];
      return measureDelay(folderClient.follow(runId), () => child.send('emit'));
    },
    async () => {
      folderClient.close();
      child.disconnect();
      await once(child, 'exit');
      rmSync(folder, { recursive: true });
    },
  );
}

export const heddle: Contender = {
  'first text': createFirstTextWorkload,
  'first text in another process': createFirstTextInAnotherProcessWorkload,
};
