import { describe, expect, it } from 'vitest';
import { sample } from '../support/scale.ts';
import { examplesOf, fencesOf, pages, readPage } from './markdown.ts';
import type { Fence } from './markdown.ts';
import { testCommandPages } from './command-pages.ts';

const NEEDS_SERVER = /npx heddle (serve|deploy|execute)\b/;

/** The commands of each page, in order. */
const commandPages = pages
  .map((page) => ({ page, examples: examplesOf(commandFencesOf(page), 'run', ['output']) }))
  .map(({ page, examples }) => ({
    page,
    examples: examples.filter(({ mainFence }) => mainFence.language === 'sh'),
  }))
  .filter(({ examples }) => examples.length > 0);

/**
 * Returns the fences of a page with commands and their output. The commands of the README have no attribute `run`:
 * every command of Heddle is run, except those that need a server, which test/docs/quick-start.test.ts runs.
 */
function commandFencesOf(page: string): Fence[] {
  const fences = fencesOf(page, readPage(page));
  if (page !== 'README.md') return fences;
  const isRunnable = ({ language, text }: Fence): boolean =>
    language === 'sh' && text.includes('npx heddle') && !NEEDS_SERVER.test(text);
  return fences
    .filter((fence) => isRunnable(fence) || fence.attributes.has('output'))
    .map((fence) => (isRunnable(fence) ? { ...fence, attributes: new Map([['run', '']]) } : fence));
}

describe('the commands of the documentation', () => {
  it('are found', () => {
    expect(commandPages.map(({ page }) => page)).toEqual(
      expect.arrayContaining(['README.md', 'docs/operations.md', 'docs/format.md', 'packages/cli/README.md']),
    );
  });

  const isReadme = ({ page }: { page: string }): boolean => page === 'README.md';
  const otherPages = commandPages.filter((each) => !isReadme(each));
  const sampledPages = sample(otherPages, Math.ceil(otherPages.length / 6), 'pages with commands');
  testCommandPages([...commandPages.filter(isReadme), ...sampledPages]);
});
