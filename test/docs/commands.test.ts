import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examplesOf, fencesOf, pages, readPage } from './markdown.ts';
import type { Fence } from './markdown.ts';
import { compared, folderOf, shell } from './shell.ts';

/** The commands of a page, in order; they run in one folder, so that a command may go on with an earlier one's runs. */
const found = pages
  .map((page) => ({ page, examples: examplesOf(commandsOf(page), 'run', ['output']) }))
  .map(({ page, examples }) => ({ page, examples: examples.filter(({ main }) => main.language === 'sh') }))
  .filter(({ examples }) => examples.length > 0);

/** The README is for readers: its commands have no marks. Only the tests themselves are not run from here. */
function commandsOf(page: string): Fence[] {
  const fences = fencesOf(page, readPage(page));
  if (page !== 'README.md') return fences;
  const isRun = ({ language, text }: Fence): boolean => language === 'sh' && text.includes('npx heddle');
  return fences.filter(isRun).map((fence) => ({ ...fence, marks: new Map([['run', '']]) }));
}

describe('the commands of the documentation', () => {
  it('are found', () => {
    expect(found.map(({ page }) => page)).toEqual(
      expect.arrayContaining(['README.md', 'docs/operations.md', 'docs/format.md', 'packages/cli/README.md']),
    );
  });

  describe.each(found)('$page', ({ page, examples }) => {
    let folder = '';

    beforeAll(() => {
      folder = folderOf(page);
    });

    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it.each(examples.map((example) => [example.main.at, example] as const))(
      'do what it says: %s',
      { timeout: 120_000 },
      async (_, example) => {
        const { said, gave } = compared(example, await shell(example.main.text, folder));
        expect(gave).toEqual(said);
      },
    );
  });
});
