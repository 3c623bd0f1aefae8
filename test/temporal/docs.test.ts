import { expect, it } from 'vitest';
import { examplesOf, fencesOf, pages, readPage } from '../docs/markdown.ts';
import { describePages } from '../docs/pages-of-commands.ts';
import { describeTemporal } from '../support/temporal.ts';

/** Commands that need a Temporal server, page by page. */
const found = pages
  .map((page) => ({ page, examples: examplesOf(fencesOf(page, readPage(page)), 'temporal', ['output']) }))
  .filter(({ examples }) => examples.length > 0);

describeTemporal('the commands of the documentation', ({ address, namespace }) => {
  it('are found', () => {
    expect(found.map(({ page }) => page)).toContain('packages/cli/README.md');
  });

  describePages(found, { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
});
