import { describe, expect, it } from 'vitest';
import { codeBlocksOf, pages, readPage } from './markdown.ts';

const codeBlocks = pages
  .flatMap((page) => codeBlocksOf(page, readPage(page)))
  .filter(({ attributes }) => attributes.has('from'));

describe('code that pages quote from files of examples', () => {
  it('is found', () => {
    expect(codeBlocks.length).toBeGreaterThan(4);
  });

  it.each(codeBlocks.map((codeBlock) => [codeBlock.location, codeBlock] as const))(
    'matches the file: %s',
    (_, codeBlock) => {
      expect(codeBlock.text).toBe(readPage(codeBlock.attributes.get('from') ?? ''));
    },
  );
});
