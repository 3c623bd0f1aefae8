import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openFolderClient } from '@heddle/engine/reader';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { sample } from '../support/scale.ts';
import { RUN_ID } from './killed-run.ts';

const RUN_PROGRAM = fileURLToPath(new URL('run-program.ts', import.meta.url));
const STEP_PROGRAM = fileURLToPath(new URL('step-program.ts', import.meta.url));

/**
 * Runs the program and returns the lines that it printed. Kills the program with SIGKILL `afterMs` milliseconds after
 * it has printed `checkpoint`. The program blocks at `checkpoint`, unless `blocksAtCheckpoint` is false.
 */
async function runProgram(
  folder: string,
  kill?: { checkpoint: string; blocksAtCheckpoint?: boolean; afterMs?: number },
  program = RUN_PROGRAM,
): Promise<string[]> {
  const stopCheckpoint = kill?.blocksAtCheckpoint === false ? '' : (kill?.checkpoint ?? '');
  const child = spawn(
    process.execPath,
    ['--conditions=@heddle/source', program, join(folder, 'data'), join(folder, 'effects'), stopCheckpoint],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  const exitCodePromise = new Promise<number | null>((resolve) => child.on('close', resolve));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line !== kill?.checkpoint) continue;
    if (kill.afterMs) await delay(kill.afterMs);
    child.kill('SIGKILL');
  }
  const code = await exitCodePromise;
  if (!kill) expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return lines;
}

/** Returns the number of executions of each effect, by its idempotency key. */
function countEffects(folder: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n'))
    counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

const EXPECTED_KEYS = [
  ...[0, 1, 2].flatMap((iteration) => ['E', 'G', 'F'].map((name) => `${RUN_ID}/${name}/${iteration}`)),
  `${RUN_ID}/Z`,
];

const EXPECTED_LOGS = [
  'Start',
  ...[0, 1, 2].flatMap((iteration) => ['E', 'G', 'H', 'F'].map((name) => `${name}.${iteration}`)),
  'L',
  'Z',
];

/** Outputs of the blocks by iteration, including the answer to the pause. */
const EXPECTED_RESULTS = [0, 1, 2].map((n) => [
  { blockName: 'E' },
  { blockName: 'G' },
  { submission: { n } },
  { blockName: 'F', answer: n },
]);

/**
 * Expects the result of an uninterrupted run, and that only the effects with the keys `repeatedKeys` ran a second time.
 */
async function expectCompletedRun(folder: string, repeatedKeys: readonly string[]): Promise<void> {
  const client = openFolderClient(join(folder, 'data'));
  onTestFinished(() => client.close());
  expect(await client.getRun(RUN_ID)).toMatchObject({
    status: 'completed',
    output: { results: EXPECTED_RESULTS },
  });
  const logs = await client.getLogs(RUN_ID);
  expect(
    logs
      .map(({ blockName, container }) => (container ? `${blockName}.${container.index}` : blockName))
      .toSorted(),
  ).toEqual(EXPECTED_LOGS.toSorted());
  expect(logs.every(({ status }) => status === 'completed')).toBe(true);
  const counts = countEffects(folder);
  expect([...counts.keys()].toSorted()).toEqual(EXPECTED_KEYS.toSorted());
  expect([...counts].filter(([, count]) => count > 1).map(([key]) => key)).toEqual(repeatedKeys);
}

describe('a process that is killed with SIGKILL', () => {
  const KILL_CASES: [title: string, checkpoint: string, repeatedKeys: string[]][] = [
    ['while an effect runs', 'E.0', [`${RUN_ID}/E/0`]],
    ['while an effect of a later iteration runs', 'E.2', [`${RUN_ID}/E/2`]],
    ['immediately after an effect is recorded', 'G.1', [`${RUN_ID}/G/1`]],
    ['while the run is paused', 'paused.0', []],
    ['while the run is paused in a later iteration', 'paused.2', []],
    ['immediately after an answer is recorded', 'F.1', [`${RUN_ID}/F/1`]],
    ['in the last block', 'Z.', [`${RUN_ID}/Z`]],
  ];

  it.each(sample(KILL_CASES, 3, 'checkpoints at which a process is killed'))(
    '%s (%s): the next process completes its run, and repeats only an effect that was running',
    async (_title, checkpoint, repeatedKeys) => {
      const folder = createDataFolder();
      const firstLines = await runProgram(folder, { checkpoint });
      expect(firstLines.at(-1)).toBe(checkpoint);
      const secondLines = await runProgram(folder);
      expect(secondLines.at(-1)).toBe('ended');
      await expectCompletedRun(folder, repeatedKeys);
    },
  );

  it.each(sample([0, 1, 2, 4], 2, 'times at which a process is killed during a resume'))(
    'during a resume (%i ms after it began): the next process completes its run',
    async (afterMs) => {
      const folder = createDataFolder();
      await runProgram(folder, { checkpoint: 'resuming.1', blocksAtCheckpoint: false, afterMs });
      await runProgram(folder);
      const repeatedKeys = [...countEffects(folder)].filter(([, count]) => count > 1).map(([key]) => key);
      // The signal may arrive while the effect F.1 runs, or before or after it.
      expect(repeatedKeys.length).toBeLessThanOrEqual(1);
      await expectCompletedRun(folder, repeatedKeys);
    },
  );

  it('repeatedly, at effects and pauses of every iteration: the last process completes the run', async () => {
    const folder = createDataFolder();
    const checkpoints = [0, 1, 2].flatMap((iteration) => [
      `E.${iteration}`,
      `paused.${iteration}`,
      `F.${iteration}`,
    ]);
    for (const checkpoint of checkpoints)
      expect((await runProgram(folder, { checkpoint })).at(-1)).toBe(checkpoint);
    await runProgram(folder);
    await expectCompletedRun(
      folder,
      [0, 1, 2].flatMap((iteration) => [`${RUN_ID}/E/${iteration}`, `${RUN_ID}/F/${iteration}`]),
    );
  });
});

describe('a process that is killed with SIGKILL during a step of a block', () => {
  it.each([
    ['that is idempotent', '4', ['done', 'done', 'done', 'done', 'done'], ['4']],
    ['that is not idempotent', '3', ['done', 'done', 'unknown', 'done', 'done'], []],
  ])(
    '%s: the next process continues without repeating finished steps',
    async (_title, stopKey, steps, repeatedKeys) => {
      const folder = createDataFolder();
      expect((await runProgram(folder, { checkpoint: stopKey }, STEP_PROGRAM)).at(-1)).toBe(stopKey);
      const secondLines = await runProgram(folder, undefined, STEP_PROGRAM);
      expect(JSON.parse(secondLines.at(-1) ?? '')).toEqual({ steps });
      const counts = countEffects(folder);
      expect([...counts.keys()]).toEqual(['1', '2', '3', '4', '5']);
      expect([...counts].filter(([, count]) => count > 1).map(([key]) => key)).toEqual(repeatedKeys);
    },
  );
});
