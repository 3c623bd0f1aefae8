import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pages, readPage, repository } from './markdown.ts';

/**
 * Returns the page without code blocks, and without inline code that contains a link: links and headings in code are
 * examples.
 */
function removeCode(text: string): string {
  return text
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => (code.includes('](') ? '' : code));
}

/** Returns the anchors of the headings of a page, in the form of common Markdown hosts. */
function anchorsOf(text: string): Set<string> {
  const headings = [...removeCode(text).matchAll(/^#+ (.+)$/gm)].map((match) => match[1] ?? '');
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(/\s/g, '-'),
    ),
  );
}

/** Returns the broken links of a page. */
function findBrokenLinks(page: string, text: string): string[] {
  const targets = [...removeCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : posix.join(posix.dirname(page), path);
    if (!existsSync(join(repository, file))) return true;
    return anchor !== undefined && !anchorsOf(file === page ? text : readPage(file)).has(anchor);
  });
}

describe('links', () => {
  it.each(pages)('of %s are not broken', (page) => {
    expect(findBrokenLinks(page, readPage(page))).toEqual([]);
  });

  it('are found, and detected if they are broken', () => {
    const allLinks = pages.flatMap((page) => [...removeCode(readPage(page)).matchAll(/\]\(/g)]);
    expect(allLinks.length).toBeGreaterThan(30);
    const text =
      '# A b: `c`\n[x](#a-b-c) [y](#none) [z](no.md) [w](../README.md#none) `[v](no.md)` [u](https://x.y)';
    expect(findBrokenLinks('docs/glossary.md', text)).toEqual(['#none', 'no.md', '../README.md#none']);
  });
});
