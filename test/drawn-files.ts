import { numbersFor } from './support/seeded.ts';

/** Files of which a quick run draws a third, rounded up, because each takes 5 to 30 seconds of processor time. */
const GROUPS: { readonly [what: string]: readonly string[] } = {
  'the command line on Temporal': [
    'test/temporal/cli-dev.test.ts',
    'test/temporal/cli-run.test.ts',
    'test/temporal/cli-serve.test.ts',
    'test/temporal/cli-worker.test.ts',
  ],
  'images of real packages and tools': [
    'packages/images/src/javascript/builder.test.ts',
    'packages/images/src/javascript/real.test.ts',
    'packages/images/src/native/scripts.test.ts',
    'packages/images/src/native/tools/go/compile.test.ts',
    'packages/images/src/native/tools/real.test.ts',
    'packages/images/src/python/builder.test.ts',
    'packages/images/src/python/image.test.ts',
    'packages/images/src/python/real.test.ts',
  ],
  'sandboxes on the command line and native code': [
    'packages/sandbox/src/native/native-attacks.test.ts',
    'packages/sandbox/src/native/native.test.ts',
    'test/cli/sandbox-told.test.ts',
    'test/cli/sandbox.test.ts',
  ],
};

/** Returns the files that a quick run with this seed leaves out, each with its reason; none that an argument of vitest names. */
export function filesLeftOut(seed: string, args: readonly string[]): Record<string, string> {
  const isNamed = (file: string): boolean => args.some((arg) => file.includes(arg.replace(/^\.\//, '')));
  return Object.fromEntries(
    Object.entries(GROUPS).flatMap(([what, files]) => {
      const draw = numbersFor(Number(seed), Buffer.from(what));
      const ranked = files.map((file) => ({ file, rank: draw() })).toSorted((a, b) => a.rank - b.rank);
      const count = Math.ceil(files.length / 3);
      return ranked
        .slice(count)
        .filter(({ file }) => !isNamed(file))
        .map(({ file }) => [file, `of ${what}, ${count} of ${files.length} files are drawn`]);
    }),
  );
}
