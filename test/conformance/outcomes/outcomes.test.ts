import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { afterAll, describe, expect, it } from 'vitest';
import { sample } from '../../support/scale.ts';
import { outcomeCases } from './cases.ts';
import type { OutcomeCase } from './cases.ts';
import { optionsFor, runCase } from './run-case.ts';

const cases = outcomeCases();
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
  function engineFor(recorded: OutcomeCase): Promise<Engine> {
    const options = optionsFor(recorded);
    const id = JSON.stringify(options);
    const engine =
      engines.get(id) ??
      createEngine({ ...options, ...(data !== undefined && { data: join(data, String(engines.size)) }) });
    engines.set(id, engine);
    return engine;
  }

  it.each(subset.map((recorded) => [recorded.id, recorded.title, recorded] as const))(
    '%s %s',
    async (_id, _title, recorded) => {
      expect(await runCase(await engineFor(recorded), recorded)).toBe('as recorded');
    },
  );
});

it('the file has all recorded cases', () => {
  expect(cases).toHaveLength(507);
});
