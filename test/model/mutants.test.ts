import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { sample } from '../support/scale.ts';
import { containerMutants } from './mutants/containers.ts';
import { endingMutants } from './mutants/endings.ts';
import { eventMutants } from './mutants/events.ts';
import { isPendingMutants } from './mutants/is-pending.ts';
import { pathMutants } from './mutants/paths.ts';
import { listMachineFiles, applyMutant, SuiteRunner } from './mutants/suite-runner.ts';

const mutants = [...pathMutants, ...containerMutants, ...endingMutants, ...eventMutants, ...isPendingMutants];

/** Files of the machine without rules: types and exports. */
const FILES_WITHOUT_RULES = ['command.ts', 'event.ts', 'index.ts', 'skeleton.ts', 'step-context.ts'];

describe('the tests of the machine', () => {
  const suites = { rules: new SuiteRunner('rules'), model: new SuiteRunner('model') };

  beforeAll(() => {
    // Every mutant gets the same runs. Failures are not shrunk, because one failure is enough.
    fc.configureGlobal({ seed: 20, endOnFailure: true });
    return async () => {
      fc.resetConfigureGlobal();
      await Promise.all([suites.rules.close(), suites.model.close()]);
    };
  });

  it.each(['rules', 'model'] as const)('pass for the unchanged machine (%s)', async (suite) => {
    expect(await suites[suite].findFirstFailure()).toBeUndefined();
  });

  it('have a mutant for every file with a rule', () => {
    const files = new Set([...mutants.map(({ file }) => file), ...FILES_WITHOUT_RULES]);
    expect([...files].toSorted()).toEqual(listMachineFiles().toSorted());
  });

  it('have distinct mutants, and the text of each occurs once in the machine', () => {
    expect(new Set(mutants.map(applyMutant)).size).toBe(mutants.length);
  });

  const sampledMutants = sample(mutants, 12, 'mutants of the machine');
  it.each(sampledMutants.map((mutant) => [mutant.effect, mutant.file, mutant] as const))(
    'detect that %s (%s)',
    async (_, __, mutant) => {
      const failure =
        (await suites.rules.findFirstFailure(mutant)) ?? (await suites.model.findFirstFailure(mutant));
      expect(failure).toBeDefined();
    },
  );
});
