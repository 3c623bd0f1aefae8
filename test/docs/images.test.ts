import { IMAGE_ERROR_CODES } from '@heddle/images';
import { expect, it } from 'vitest';
import { RECIPES } from '../../packages/images/src/native/tools/recipes.ts';
import { readPage } from './markdown.ts';

it('docs/images.md explains each error code of an image build, in the order of IMAGE_ERROR_CODES', () => {
  const [, table = ''] = readPage('docs/images.md').split('\n## Error codes\n');
  const rows = [...table.matchAll(/^\| `(\w+)` \| (.+) \| (.+) \|$/gm)];
  expect(rows.map(([, code]) => code)).toEqual([...IMAGE_ERROR_CODES]);
});

it('docs/images-native.md lists the ids of the command-line tools, grouped by the source of their files', () => {
  const [, table = ''] = readPage('docs/images-native.md').split('\n## Command-line tools\n');
  const rows = [...table.matchAll(/^\| (npm|PyPI|sources|a file)\b.*? \| (`.+`) \|$/gm)];
  const idsFrom = (source: string): string[] =>
    RECIPES.filter(({ install }) => install.from === source).map(({ id }) => id);
  expect(rows.map(([, , cell = '']) => [...cell.matchAll(/`(.+?)`/g)].map(([, id]) => id))).toEqual(
    ['npm', 'pypi', 'go', 'download'].map(idsFrom),
  );
});
