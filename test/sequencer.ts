import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/**
 * Files that take longest, first in this order: one that began last would run on alone. Files that wait for Temporal and files
 * that compute take turns, so that neither all workers wait nor all compete for the processor.
 */
export const LONGEST: readonly string[] = [
  'test/temporal/conformance.test.ts',
  'test/conformance/local.test.ts',
  'packages/images/src/javascript/builder.test.ts',
  'test/temporal/cli-worker.test.ts',
  'packages/images/src/native/scripts.test.ts',
  'test/attacks/python.test.ts',
  'test/temporal/faults.test.ts',
  'packages/sandbox/src/python-limits.test.ts',
  'test/cli/sandbox-told.test.ts',
  'test/temporal/conformance-services.test.ts',
  'test/attacks/exhaustion.test.ts',
  'test/crash/steps.test.ts',
  'test/temporal/parity/parity.test.ts',
  'test/attacks/packages.test.ts',
  'packages/sandbox/src/native/native-attacks.test.ts',
  'test/temporal/replay/continued.test.ts',
];

/** Starts the longest files first, without durations of an earlier run too; last the units, which share their processes. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rankOf = ({ moduleId }: TestSpecification): number =>
      LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
    const longest = sorted.filter((file) => rankOf(file) >= 0).toSorted((a, b) => rankOf(a) - rankOf(b));
    const others = sorted.filter((file) => rankOf(file) < 0);
    const of = (name: string) => others.filter(({ project }) => project.name === name);
    const [units, waiting] = [of('units'), of('temporal')];
    const computing = others.filter(({ project }) => project.name !== 'units' && project.name !== 'temporal');
    return [...longest, ...spread(waiting, computing), ...units];
  }
}

/** Returns the items of `few` at equal distances among those of `many`. */
function spread<T>(few: readonly T[], many: readonly T[]): T[] {
  const distance = Math.ceil(many.length / Math.max(1, few.length));
  const mixed = many.flatMap((item, at) =>
    at % distance === 0 ? [...few.slice(at / distance, at / distance + 1), item] : [item],
  );
  return [...mixed, ...few.slice(Math.ceil(many.length / distance))];
}
