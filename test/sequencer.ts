import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** The files that take longest. They start first, because a long file that starts last would run alone at the end. */
export const LONGEST_FILES: readonly string[] = [
  'test/temporal/conformance.test.ts',
  'test/conformance/local.test.ts',
  'packages/images/src/javascript/builder.test.ts',
  'test/temporal/cli-worker.test.ts',
  'packages/images/src/native/scripts.test.ts',
  'test/attacks/python.test.ts',
  'test/temporal/faults.test.ts',
  'packages/sandbox/src/python-limits.test.ts',
  'test/cli/sandbox-messages.test.ts',
  'test/temporal/conformance-services.test.ts',
  'test/attacks/exhaustion.test.ts',
  'test/crash/steps.test.ts',
  'test/temporal/parity/parity.test.ts',
  'test/attacks/packages.test.ts',
  'packages/sandbox/src/native/native-attacks.test.ts',
  'test/temporal/replay/continue-as-new.test.ts',
];

/**
 * Sorts the files. First come the files of the project `operations`, each in its own process: if they came later,
 * Vitest would have to end a shared process and start it again. Then come the `LONGEST_FILES`: a fixed list, so that
 * the order is right without the durations of an earlier run. Last come the unit tests, which are short. In between,
 * files that wait for Temporal and files that compute alternate, so that the workers neither all wait nor all compete
 * for the CPU.
 */
export class LongestFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sortedFiles = await super.sort(files);
    const rankOf = ({ moduleId }: TestSpecification): number =>
      LONGEST_FILES.findIndex((file) => moduleId.endsWith(`/${file}`));
    const isUnitTest = ({ moduleId }: TestSpecification): boolean => UNIT_TEST_PATH.test(moduleId);
    const isWaiting = ({ moduleId }: TestSpecification): boolean => moduleId.includes('/test/temporal/');
    const isolatedFiles = sortedFiles.filter(({ project }) => project.name === 'operations');
    const sharedFiles = sortedFiles.filter(({ project }) => project.name !== 'operations');
    const longestFiles = sharedFiles
      .filter((file) => rankOf(file) >= 0)
      .toSorted((a, b) => rankOf(a) - rankOf(b));
    const otherFiles = sharedFiles.filter((file) => rankOf(file) < 0 && !isUnitTest(file));
    const waitingFiles = otherFiles.filter(isWaiting);
    const computingFiles = otherFiles.filter((file) => !isWaiting(file));
    const unitTests = sharedFiles.filter((file) => rankOf(file) < 0 && isUnitTest(file));
    return [...isolatedFiles, ...longestFiles, ...interleave(waitingFiles, computingFiles), ...unitTests];
  }
}

const UNIT_TEST_PATH = /\/packages\/(?:api|blocks|cli|core|engine|service|temporal)\/src\//;

/** Returns `frequentItems` with `rareItems` evenly spaced among them. */
function interleave<T>(rareItems: readonly T[], frequentItems: readonly T[]): T[] {
  const interval = Math.ceil(frequentItems.length / Math.max(1, rareItems.length));
  const interleavedItems = frequentItems.flatMap((item, index) =>
    index % interval === 0 ? [...rareItems.slice(index / interval, index / interval + 1), item] : [item],
  );
  return [...interleavedItems, ...rareItems.slice(Math.ceil(frequentItems.length / interval))];
}
