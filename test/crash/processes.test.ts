import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openFolderClient } from '@heddle/engine/reader';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { sample } from '../support/scale.ts';
import { RUN_ID } from './process-run.ts';

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));
const STEPPED = fileURLToPath(new URL('stepped.ts', import.meta.url));

/** Runs the program; SIGKILL comes `afterMs` after it has printed `place`. Gives what it printed. */
async function play(
  folder: string,
  kill?: { place: string; stop?: boolean; afterMs?: number },
  program = CHILD,
): Promise<string[]> {
  const stop = kill?.stop === false ? '' : (kill?.place ?? '');
  const child = spawn(
    process.execPath,
    ['--conditions=@heddle/source', program, join(folder, 'data'), join(folder, 'effects'), stop],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let errors = '';
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line !== kill?.place) continue;
    if (kill.afterMs) await delay(kill.afterMs);
    child.kill('SIGKILL');
  }
  const code = await closed;
  if (!kill) expect({ code, errors }).toEqual({ code: 0, errors: '' });
  return lines;
}

/** How often each effect ran, by its idempotency key. */
function effectsOf(folder: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n'))
    counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

const KEYS = [
  ...[0, 1, 2].flatMap((turn) => ['E', 'G', 'F'].map((name) => `${RUN_ID}/${name}/${turn}`)),
  `${RUN_ID}/Z`,
];

const LOGS = [
  'Start',
  ...[0, 1, 2].flatMap((turn) => ['E', 'G', 'H', 'F'].map((name) => `${name}.${turn}`)),
  'L',
  'Z',
];

/** Per turn what its blocks put out, the answer to the pause among it. */
const RESULTS = [0, 1, 2].map((n) => [
  { by: 'E' },
  { by: 'G' },
  { submission: { n } },
  { by: 'F', answer: n },
]);

/** Expects a run that ended as if no process had been killed, and in which only the effects in flight ran twice. */
async function expectWhole(folder: string, twice: readonly string[]): Promise<void> {
  const client = openFolderClient(join(folder, 'data'));
  onTestFinished(() => client.close());
  expect(await client.getRun(RUN_ID)).toMatchObject({ status: 'completed', output: { results: RESULTS } });
  const logs = await client.getLogs(RUN_ID);
  expect(
    logs
      .map(({ blockName, container }) => (container ? `${blockName}.${container.index}` : blockName))
      .toSorted(),
  ).toEqual(LOGS.toSorted());
  expect(logs.every(({ status }) => status === 'completed')).toBe(true);
  const counts = effectsOf(folder);
  expect([...counts.keys()].toSorted()).toEqual(KEYS.toSorted());
  expect([...counts].filter(([, count]) => count > 1).map(([key]) => key)).toEqual(twice);
}

describe('a process that is killed with SIGKILL', () => {
  const KILLS: [when: string, place: string, twice: string[]][] = [
    ['while an effect runs', 'E.0', [`${RUN_ID}/E/0`]],
    ['while an effect of a later turn runs', 'E.2', [`${RUN_ID}/E/2`]],
    ['right after the record of an effect', 'G.1', [`${RUN_ID}/G/1`]],
    ['while the run is paused', 'paused.0', []],
    ['while the run is paused in a later turn', 'paused.2', []],
    ['right after the record of an answer', 'F.1', [`${RUN_ID}/F/1`]],
    ['in the last block', 'Z.', [`${RUN_ID}/Z`]],
  ];

  it.each(sample(KILLS, 3, 'places to kill a process at'))(
    '%s (%s) is gone on with by another one: nothing is lost, nothing doubled',
    async (_when, place, twice) => {
      const folder = dataFolder();
      const before = await play(folder, { place });
      expect(before.at(-1)).toBe(place);
      const after = await play(folder);
      expect(after.at(-1)).toBe('ended');
      await expectWhole(folder, twice);
    },
  );

  it.each(sample([0, 1, 2, 4], 2, 'moments of a resume'))(
    'during a resume (%i ms after it began)',
    async (afterMs) => {
      const folder = dataFolder();
      await play(folder, { place: 'resuming.1', stop: false, afterMs });
      await play(folder);
      const doubled = [...effectsOf(folder)].filter(([, count]) => count > 1).map(([key]) => key);
      // What was under way when the signal came is not known: at most the one effect of that moment.
      expect(doubled.length).toBeLessThanOrEqual(1);
      await expectWhole(folder, doubled);
    },
  );

  it('again and again, at every effect and pause of the run', async () => {
    const folder = dataFolder();
    const places = [0, 1, 2].flatMap((turn) => [`E.${turn}`, `paused.${turn}`, `F.${turn}`]);
    for (const place of places) expect((await play(folder, { place })).at(-1)).toBe(place);
    await play(folder);
    await expectWhole(
      folder,
      [0, 1, 2].flatMap((turn) => [`${RUN_ID}/E/${turn}`, `${RUN_ID}/F/${turn}`]),
    );
  });
});

describe('a process that is killed with SIGKILL during a step of a block', () => {
  it.each([
    ['that is idempotent', '4', ['done', 'done', 'done', 'done', 'done'], ['4']],
    ['that is not', '3', ['done', 'done', 'unknown', 'done', 'done'], []],
  ])(
    '%s leaves the finished steps to the next one, which does not repeat them',
    async (_which, stop, steps, twice) => {
      const folder = dataFolder();
      expect((await play(folder, { place: stop }, STEPPED)).at(-1)).toBe(stop);
      const after = await play(folder, undefined, STEPPED);
      expect(JSON.parse(after.at(-1) ?? '')).toEqual({ steps });
      const counts = effectsOf(folder);
      expect([...counts.keys()]).toEqual(['1', '2', '3', '4', '5']);
      expect([...counts].filter(([, count]) => count > 1).map(([key]) => key)).toEqual(twice);
    },
  );
});
