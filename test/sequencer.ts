import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** Files that take half a minute and more, longest first: one that began last would run on alone. */
export const LONGEST: readonly string[] = [
  'test/temporal/conformance.test.ts',
  'test/temporal/conformance-services.test.ts',
  'test/conformance/local.test.ts',
  'test/temporal/cli-worker.test.ts',
  'packages/images/src/javascript/builder.test.ts',
  'packages/sandbox/src/python-limits.test.ts',
  'test/temporal/faults.test.ts',
  'test/cli/runs.test.ts',
  'packages/images/src/native/scripts.test.ts',
  'test/attacks/exhaustion.test.ts',
  'test/crash/steps.test.ts',
  'test/temporal/parity/parity.test.ts',
  'test/cli/sandbox-told.test.ts',
];

/** Starts the longest files first, without durations of an earlier run too. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
      return at === -1 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
