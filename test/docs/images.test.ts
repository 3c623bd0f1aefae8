import { IMAGE_ERROR_CODES } from '@heddle/images';
import { expect, it } from 'vitest';
import { RECIPES } from '../../packages/images/src/native/tools/recipes.ts';
import { readPage } from './markdown.ts';

it('docs/images.md explains each code of a failed build, in their order', () => {
  const [, table = ''] = readPage('docs/images.md').split('\n## Error codes\n');
  const rows = [...table.matchAll(/^\| `(\w+)` \| (.+) \| (.+) \|$/gm)];
  expect(rows.map(([, code]) => code)).toEqual([...IMAGE_ERROR_CODES]);
});

it('docs/images-native.md has the id of each command-line tool, by where its files come from', () => {
  const [, table = ''] = readPage('docs/images-native.md').split('\n## Command-line tools\n');
  const rows = [...table.matchAll(/^\| (npm|PyPI|sources|a file)\b.*? \| (`.+`) \|$/gm)];
  const ids = (from: string): string[] =>
    RECIPES.filter(({ install }) => install.from === from).map(({ id }) => id);
  expect(rows.map(([, , listed = '']) => [...listed.matchAll(/`(.+?)`/g)].map(([, id]) => id))).toEqual(
    ['npm', 'pypi', 'go', 'download'].map(ids),
  );
});
