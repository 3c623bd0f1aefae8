import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examplesOf, fencesOf, pages, readPage } from '../docs/markdown.ts';
import { compared, folderOf, shell } from '../docs/shell.ts';
import { describeTemporal } from '../support/temporal.ts';

/** Commands that need a Temporal server, page by page. */
const found = pages
  .map((page) => ({ page, examples: examplesOf(fencesOf(page, readPage(page)), 'temporal', ['output']) }))
  .filter(({ examples }) => examples.length > 0);

describeTemporal('the commands of the documentation', ({ address, namespace }) => {
  it('are found', () => {
    expect(found.map(({ page }) => page)).toContain('packages/cli/README.md');
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
        const server = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
        const { said, gave } = compared(example, await shell(example.main.text, folder, server));
        expect(gave).toEqual(said);
      },
    );
  });
});
