import { describe, expect, it } from 'vitest';
import { fencesOf, pages, readPage } from './markdown.ts';

const fences = pages
  .flatMap((page) => fencesOf(page, readPage(page)))
  .filter(({ attributes }) => attributes.has('from'));

describe('code that pages quote from files of examples', () => {
  it('is found', () => {
    expect(fences.length).toBeGreaterThan(4);
  });

  it.each(fences.map((fence) => [fence.location, fence] as const))('matches the file: %s', (_, fence) => {
    expect(fence.text).toBe(readPage(fence.attributes.get('from') ?? ''));
  });
});
