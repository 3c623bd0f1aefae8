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
    const moveAfter = (name: string, key: string): TreeKeyAction | string | undefined => {
      const move = keyActionOf(key, names.indexOf(name), rows);
      return move && 'targetIndex' in move ? names[move.targetIndex] : move;
    };
    expect(moveAfter('All workflows', 'ArrowUp')).toBeUndefined();
    expect(moveAfter('All workflows', 'ArrowRight')).toBeUndefined();
    expect(moveAfter('All workflows', 'ArrowLeft')).toBeUndefined();
    expect(moveAfter('All workflows', 'ArrowDown')).toBe('Without a folder');
    expect(moveAfter('A', 'ArrowRight')).toBe('B');
    expect(moveAfter('A', 'ArrowLeft')).toEqual({ isOpen: false });
    expect(moveAfter('B', 'ArrowRight')).toEqual({ isOpen: true });
    expect(moveAfter('D', 'ArrowLeft')).toBe('A');
    expect(moveAfter('D', 'Home')).toBe('All workflows');
    expect(moveAfter('A', 'End')).toBe('Z z');
    expect(moveAfter('Z z', 'ArrowDown')).toBeUndefined();
    expect(moveAfter('A', 'x')).toBeUndefined();
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
