import { IMAGE_ERROR_CODES } from '@heddle/sandbox/images';
import { expect, it } from 'vitest';
import { readPage } from './markdown.ts';

it('docs/images.md explains each code of a failed build, in their order', () => {
  const [, table = ''] = readPage('docs/images.md').split('\n## Error codes\n');
  const rows = [...table.matchAll(/^\| `(\w+)` \| (.+) \| (.+) \|$/gm)];
  expect(rows.map(([, code]) => code)).toEqual([...IMAGE_ERROR_CODES]);
});
