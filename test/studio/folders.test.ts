import { describe, expect, it } from 'vitest';
import { encodeName } from '../../packages/service/src/workflows/folder-path.ts';
import {
  folderRows,
  moveOf,
  parentOf,
  pathIn,
  pathText,
} from '../../packages/studio/web/workflows/folder-rows.ts';
import type { TreeMove } from '../../packages/studio/web/workflows/folder-rows.ts';

const folder = (path: string) => ({
  path,
  name: pathText(path).split(' / ').at(-1) ?? '',
  parentPath: parentOf(path),
  locked: false,
});
const FOLDERS = ['/A', '/A/B', '/A/B/C', '/A/D', '/Z%20z'].map(folder);

describe('the tree of folders', () => {
  it('shows the folders in open folders, with their level and their position among their siblings', () => {
    const shown = (open: string[]) =>
      folderRows(FOLDERS, new Set(open)).map(
        ({ name, level, position, size, isOpen }) => `${name} ${level} ${position}/${size} ${isOpen}`,
      );
    const first = ['All workflows 1 1/4 undefined', 'Without a folder 1 2/4 undefined'];
    expect(shown([])).toEqual([...first, 'A 1 3/4 false', 'Z z 1 4/4 undefined']);
    expect(shown(['/A', '/A/B', '/unknown'])).toEqual([
      ...first,
      'A 1 3/4 true',
      'B 2 1/2 true',
      'C 3 1/1 undefined',
      'D 2 2/2 undefined',
      'Z z 1 4/4 undefined',
    ]);
  });

  it('is navigated by arrow keys, Home and End, which also open and close folders', () => {
    const rows = folderRows(FOLDERS, new Set(['/A']));
    const names = rows.map(({ name }) => name);
    expect(names).toEqual(['All workflows', 'Without a folder', 'A', 'B', 'D', 'Z z']);
    const after = (name: string, key: string): TreeMove | string | undefined => {
      const move = moveOf(key, names.indexOf(name), rows);
      return move && 'to' in move ? names[move.to] : move;
    };
    expect(after('All workflows', 'ArrowUp')).toBeUndefined();
    expect(after('All workflows', 'ArrowRight')).toBeUndefined();
    expect(after('All workflows', 'ArrowLeft')).toBeUndefined();
    expect(after('All workflows', 'ArrowDown')).toBe('Without a folder');
    expect(after('A', 'ArrowRight')).toBe('B');
    expect(after('A', 'ArrowLeft')).toEqual({ isOpen: false });
    expect(after('B', 'ArrowRight')).toEqual({ isOpen: true });
    expect(after('D', 'ArrowLeft')).toBe('A');
    expect(after('D', 'Home')).toBe('All workflows');
    expect(after('A', 'End')).toBe('Z z');
    expect(after('Z z', 'ArrowDown')).toBeUndefined();
    expect(after('A', 'x')).toBeUndefined();
  });

  it('encodes names like the API', () => {
    for (const name of ['A B', "it's (1)!*", 'Ä/ö', '%41', '100%', '~._-']) {
      expect(pathIn('/', name)).toBe(`/${encodeName(name)}`);
      expect(pathText(pathIn('/A', name))).toBe(`A / ${name}`);
      expect(parentOf(pathIn('/A', name))).toBe('/A');
    }
    expect(pathText('/%zz')).toBe('%zz');
  });

  it('takes time proportional to the number of folders', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => folder(`/F${index % 100}/${index}`));
    const roots = Array.from({ length: 100 }, (_, index) => folder(`/F${index}`));
    const rows = folderRows([...roots, ...many], new Set(roots.map(({ path }) => path)));
    expect(rows).toHaveLength(10_102);
    expect(rows.at(-1)).toMatchObject({ level: 2, position: 100, size: 100 });
  });
});
