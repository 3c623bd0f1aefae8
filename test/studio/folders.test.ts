import { describe, expect, it } from 'vitest';
import { encodeName } from '../../packages/service/src/workflows/folder-path.ts';
import {
  toFolderRows,
  keyActionOf,
  parentOf,
  subfolderPath,
  formatPath,
} from '../../packages/studio/web/workflows/folder-rows.ts';
import type { TreeKeyAction } from '../../packages/studio/web/workflows/folder-rows.ts';

const folder = (path: string) => ({
  path,
  name: formatPath(path).split(' / ').at(-1) ?? '',
  parentPath: parentOf(path),
  locked: false,
});
const FOLDERS = ['/A', '/A/B', '/A/B/C', '/A/D', '/Z%20z'].map(folder);

describe('the tree of folders', () => {
  it('shows the subfolders of open folders, with their level and their position among their siblings', () => {
    const rowsWith = (openPaths: string[]) =>
      toFolderRows(FOLDERS, new Set(openPaths)).map(
        ({ name, level, position, size, isOpen }) => `${name} ${level} ${position}/${size} ${isOpen}`,
      );
    const fixedRows = ['All workflows 1 1/4 undefined', 'Without a folder 1 2/4 undefined'];
    expect(rowsWith([])).toEqual([...fixedRows, 'A 1 3/4 false', 'Z z 1 4/4 undefined']);
    expect(rowsWith(['/A', '/A/B', '/unknown'])).toEqual([
      ...fixedRows,
      'A 1 3/4 true',
      'B 2 1/2 true',
      'C 3 1/1 undefined',
      'D 2 2/2 undefined',
      'Z z 1 4/4 undefined',
    ]);
  });

  it('is navigated by arrow keys, Home and End; arrow keys also open and close folders', () => {
    const rows = toFolderRows(FOLDERS, new Set(['/A']));
    const names = rows.map(({ name }) => name);
    expect(names).toEqual(['All workflows', 'Without a folder', 'A', 'B', 'D', 'Z z']);
    const pressKeyAt = (name: string, key: string): TreeKeyAction | string | undefined => {
      const action = keyActionOf(key, names.indexOf(name), rows);
      return action && 'targetIndex' in action ? names[action.targetIndex] : action;
    };
    expect(pressKeyAt('All workflows', 'ArrowUp')).toBeUndefined();
    expect(pressKeyAt('All workflows', 'ArrowRight')).toBeUndefined();
    expect(pressKeyAt('All workflows', 'ArrowLeft')).toBeUndefined();
    expect(pressKeyAt('All workflows', 'ArrowDown')).toBe('Without a folder');
    expect(pressKeyAt('A', 'ArrowRight')).toBe('B');
    expect(pressKeyAt('A', 'ArrowLeft')).toEqual({ isOpen: false });
    expect(pressKeyAt('B', 'ArrowRight')).toEqual({ isOpen: true });
    expect(pressKeyAt('D', 'ArrowLeft')).toBe('A');
    expect(pressKeyAt('D', 'Home')).toBe('All workflows');
    expect(pressKeyAt('A', 'End')).toBe('Z z');
    expect(pressKeyAt('Z z', 'ArrowDown')).toBeUndefined();
    expect(pressKeyAt('A', 'x')).toBeUndefined();
  });

  it('encodes names like the API', () => {
    for (const name of ['A B', "it's (1)!*", 'Ä/ö', '%41', '100%', '~._-']) {
      expect(subfolderPath('/', name)).toBe(`/${encodeName(name)}`);
      expect(formatPath(subfolderPath('/A', name))).toBe(`A / ${name}`);
      expect(parentOf(subfolderPath('/A', name))).toBe('/A');
    }
    expect(formatPath('/%zz')).toBe('%zz');
  });

  it('has a row for each of 10,100 folders', () => {
    const children = Array.from({ length: 10_000 }, (_, index) => folder(`/F${index % 100}/${index}`));
    const roots = Array.from({ length: 100 }, (_, index) => folder(`/F${index}`));
    const rows = toFolderRows([...roots, ...children], new Set(roots.map(({ path }) => path)));
    expect(rows).toHaveLength(10_102);
    expect(rows.at(-1)).toMatchObject({ level: 2, position: 100, size: 100 });
  });
});
