import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { sample } from '../support/scale.ts';
import { containers } from './mutants/containers.ts';
import { endings } from './mutants/endings.ts';
import { events } from './mutants/events.ts';
import { Judge, machineFiles, mutated } from './mutants/judge.ts';
import { isPending } from './mutants/is-pending.ts';
import { paths } from './mutants/paths.ts';

const mutants = [...paths, ...containers, ...endings, ...events, ...isPending];

/** Files of the machine without rules: types and exports. */
const WITHOUT_RULES = ['command.ts', 'event.ts', 'index.ts', 'skeleton.ts', 'step-context.ts'];

describe('the tests of the machine', () => {
  const judges = { rules: new Judge('rules'), model: new Judge('model') };

  beforeAll(() => {
    // The same runs for every mutant, without shrinking: one failure is enough.
    fc.configureGlobal({ seed: 20, endOnFailure: true });
    return async () => {
      fc.resetConfigureGlobal();
      await Promise.all([judges.rules.close(), judges.model.close()]);
    };
  });

  it.each(['rules', 'model'] as const)('pass for the unchanged machine (%s)', async (bench) => {
    expect(await judges[bench].judge()).toBeUndefined();
  });

  it('have a mutant for every file with a rule', () => {
    const files = new Set([...mutants.map(({ file }) => file), ...WITHOUT_RULES]);
    expect([...files].toSorted()).toEqual(machineFiles().toSorted());
  });

  it('have distinct mutants, and the text of each occurs once in the machine', () => {
    expect(new Set(mutants.map(mutated)).size).toBe(mutants.length);
  });

  const chosen = sample(mutants, 12, 'mutants of the machine');
  it.each(chosen.map((mutant) => [mutant.why, mutant.file, mutant] as const))(
    'detect that %s (%s)',
    async (_, __, mutant) => {
      expect((await judges.rules.judge(mutant)) ?? (await judges.model.judge(mutant))).toBeDefined();
    },
  );
});
