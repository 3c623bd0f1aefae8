import type { JsonObject } from '@heddle/core';
import { isBlockError } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import { asText } from '../../packages/engine/src/executors/values.ts';
import { contextOf } from '../support/block.ts';
import { codeIn, codeBlocksOf, readPage, tablesOf } from './markdown.ts';
import { ENV } from './reference-workflow.ts';

const PAGE = 'docs/references.md';
const text = readPage(PAGE);
const input = JSON.parse(
  codeBlocksOf(PAGE, text).find(({ attributes }) => attributes.has('input'))?.text ?? 'null',
) as JsonObject;
const rows = tablesOf(PAGE, text)
  .filter(({ name }) => name === 'urls')
  .flatMap(({ rows: tableRows }) =>
    tableRows.map(({ cells: [url = '', expected = ''] }) => [codeIn(url) ?? '', expected]),
  );

/** Returns the resolved URL as the page shows it, or the code of the failure. */
function resolveUrl(url: string): string {
  const env = Object.fromEntries(Object.entries(ENV).map(([name, { value }]) => [name, value]));
  const context = contextOf({
    type: 'api',
    params: { url },
    outputs: { Start: input },
    unexecutedBlocks: ['Never'],
    env,
  });
  try {
    return `\`${asText(context.field('url'))}\``;
  } catch (error) {
    if (isBlockError(error)) return `fails \`${error.code}\``;
    throw error;
  }
}

describe('the URLs in docs/references.md', () => {
  it('are found', () => {
    expect(rows.length).toBeGreaterThan(5);
  });

  it.each(rows)('%s resolves to %s', (url = '', expected = '') => {
    expect(resolveUrl(url)).toBe(expected);
  });
});
