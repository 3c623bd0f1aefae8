import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Example } from './markdown.ts';
import { compareOutput, createPageFolder, runShellCommand } from './shell.ts';

/** Runs the commands of each page in order, in one folder, so that a command can use the runs of earlier commands. */
export function testCommandPages(
  commandPages: readonly { page: string; examples: readonly Example[] }[],
  env?: { [name: string]: string },
): void {
  describe.each(commandPages)('$page', ({ page, examples }) => {
    let folder = '';

    beforeAll(() => {
      folder = createPageFolder(page);
    });

    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it.each(examples.map((example) => [example.mainCodeBlock.location, example] as const))(
      'has commands with the documented output and exit code: %s',
      { timeout: 120_000 },
      async (_, example) => {
        const { documented, actual } = compareOutput(
          example,
          await runShellCommand(example.mainCodeBlock.text, folder, env),
        );
        expect(actual).toEqual(documented);
      },
    );
  });
}
