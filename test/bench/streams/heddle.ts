import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEngine } from '@heddle/engine';
import { openFolderClient } from '@heddle/engine/reader';
import type { Contender, MeasuredWorkload } from '../workload.ts';
import { delayOf, medianDelay, TOKEN_WORKFLOW, tokenBlock } from './token.ts';

export const TOKEN_PROCESS = fileURLToPath(new URL('token-process.ts', import.meta.url));

async function firstText(): Promise<MeasuredWorkload> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  let emit = (): void => undefined;
  const untilEmit = (): Promise<void> => new Promise((resolve) => (emit = resolve));
  const engine = await createEngine({ data: folder, blocks: [tokenBlock(untilEmit)] });
  return medianDelay(
    async () => {
      const run = await engine.start({ workflow: TOKEN_WORKFLOW });
      const delay = delayOf(run.events(), () => undefined);
      // This does not wait for `block:started`, because the block may have started before the events are read.
      setImmediate(() => setImmediate(emit));
      return delay;
    },
    async () => {
      await engine.close();
      rmSync(folder, { recursive: true });
    },
  );
}

async function firstTextInAnotherProcess(): Promise<MeasuredWorkload> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const child = fork(TOKEN_PROCESS, [folder], { execArgv: ['--no-warnings'] });
  await once(child, 'message');
  const reader = openFolderClient(folder);
  return medianDelay(
    async () => {
      child.send('start');
      const [{ runId }] = (await once(child, 'message')) as [{ runId: string }];
      return delayOf(reader.follow(runId), () => child.send('emit'));
    },
    async () => {
      reader.close();
      child.disconnect();
      await once(child, 'exit');
      rmSync(folder, { recursive: true });
    },
  );
}

export const heddle: Contender = {
  'first text': firstText,
  'first text in another process': firstTextInAnotherProcess,
};
