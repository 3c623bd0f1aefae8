import { expect, it } from 'vitest';
import { examplesOf, codeBlocksOf, pages, readPage } from '../docs/markdown.ts';
import { testCommandPages } from '../docs/command-pages.ts';
import { describeTemporal } from '../support/temporal.ts';

/** Commands that need a Temporal server, page by page. */
const examplePages = pages
  .map((page) => ({ page, examples: examplesOf(codeBlocksOf(page, readPage(page)), 'temporal', ['output']) }))
  .filter(({ examples }) => examples.length > 0);

describeTemporal('the commands of the documentation', ({ address, namespace }) => {
  it('are found', () => {
    expect(examplePages.map(({ page }) => page)).toContain('packages/cli/README.md');
  });

  testCommandPages(examplePages, { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
});
