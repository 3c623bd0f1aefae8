import { expect, it } from 'vitest';
import { readText } from './sources.ts';

it('the glossary defines each term once', () => {
  const rows = [...readText('docs/glossary.md').matchAll(/^\| ((?:\*\*[a-z -]+\*\*(?:, )?)+) \|/gm)];
  const terms = rows.flatMap((match) => (match[1] ?? '').replaceAll('*', '').split(', '));
  expect(terms.length).toBeGreaterThan(40);
  expect(terms).toEqual([...new Set(terms)]);
});
