import { describe, expect, it } from 'vitest';
import { sample } from '../support/scale.ts';
import { examplesOf, codeBlocksOf, pages, readPage } from './markdown.ts';
import type { CodeBlock } from './markdown.ts';
import { testCommandPages } from './command-pages.ts';

const SERVER_COMMAND = /npx heddle (serve|deploy|execute)\b/;

/** The commands of each page, in order. */
const commandPages = pages
  .map((page) => ({ page, examples: examplesOf(commandCodeBlocksOf(page), 'run', ['output']) }))
  .map(({ page, examples }) => ({
    page,
    examples: examples.filter(({ mainCodeBlock }) => mainCodeBlock.language === 'sh'),
  }))
  .filter(({ examples }) => examples.length > 0);

/**
 * Returns the code blocks of a page with commands and their output. The commands of the README have no attribute `run`:
 * every command of Heddle is run, except those that need a server, which test/docs/quick-start.test.ts runs.
 */
function commandCodeBlocksOf(page: string): CodeBlock[] {
  const codeBlocks = codeBlocksOf(page, readPage(page));
  if (page !== 'README.md') return codeBlocks;
  const isRunnable = ({ language, text }: CodeBlock): boolean =>
    language === 'sh' && text.includes('npx heddle') && !SERVER_COMMAND.test(text);
  return codeBlocks
    .filter((codeBlock) => isRunnable(codeBlock) || codeBlock.attributes.has('output'))
    .map((codeBlock) =>
      isRunnable(codeBlock) ? { ...codeBlock, attributes: new Map([['run', '']]) } : codeBlock,
    );
}

describe('the commands of the documentation', () => {
  it('are found', () => {
    expect(commandPages.map(({ page }) => page)).toEqual(
      expect.arrayContaining(['README.md', 'docs/operations.md', 'docs/format.md', 'packages/cli/README.md']),
    );
  });

  const isReadme = ({ page }: { page: string }): boolean => page === 'README.md';
  const otherPages = commandPages.filter((commandPage) => !isReadme(commandPage));
  const sampledPages = sample(otherPages, Math.ceil(otherPages.length / 6), 'pages with commands');
  testCommandPages([...commandPages.filter(isReadme), ...sampledPages]);
});
