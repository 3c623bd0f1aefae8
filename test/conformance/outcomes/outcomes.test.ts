import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { afterAll, describe, expect, it } from 'vitest';
import { sample } from '../../support/scale.ts';
import { readOutcomeCases } from './cases.ts';
import type { OutcomeCase } from './cases.ts';
import { optionsFor, runCase } from './run-case.ts';

const cases = readOutcomeCases();
const folder = mkdtempSync(join(tmpdir(), 'heddle-outcomes-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each([
  { name: 'memory', data: undefined, subset: cases },
  { name: 'SQLite', data: folder, subset: sample(cases, 30, 'recorded outcomes on SQLite') },
])('recorded outcomes on $name', ({ data, subset }) => {
  const engines = new Map<string, Promise<Engine>>();

  afterAll(async () => {
    for (const engine of engines.values()) await (await engine).close();
  });

  /** Returns the engine that all cases with the same environment values share. */
  function engineFor(outcomeCase: OutcomeCase): Promise<Engine> {
    const options = optionsFor(outcomeCase);
    const key = JSON.stringify(options);
    const engine =
      engines.get(key) ??
      createEngine({ ...options, ...(data !== undefined && { data: join(data, String(engines.size)) }) });
    engines.set(key, engine);
    return engine;
  }

  it.each(subset.map((outcomeCase) => [outcomeCase.id, outcomeCase.title, outcomeCase] as const))(
    '%s %s',
    async (_id, _title, outcomeCase) => {
      expect(await runCase(await engineFor(outcomeCase), outcomeCase)).toBe('as recorded');
    },
  );
});

it('the file has all recorded cases', () => {
  expect(cases).toHaveLength(507);
});
