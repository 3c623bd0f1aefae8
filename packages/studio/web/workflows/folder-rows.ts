/** A folder as the interface lists it. */
export interface Folder {
  name: string;
  /** Percent-encoded, with a slash before each name. */
  path: string;
  parentPath: string;
  locked: boolean;
}

/** A row of the tree. */
export interface FolderRow {
  /** Its key, and the filter of the list: a path; empty for all workflows. */
  path: string;
  name: string;
  locked: boolean;
  /** From 1. */
  level: number;
  /** Undefined for a folder without subfolders. */
  isOpen: boolean | undefined;
  /** Number of siblings, including this row, and its position among them, from 1. */
  size: number;
  position: number;
}

/** The root folder. It contains the workflows that are in no other folder. */
export const ROOT = '/';

/** Names of the rows that are not folders. */
const ALL = 'All workflows';
const NO_FOLDER = 'Without a folder';

/**
 * Returns the visible rows: all workflows, those without a folder, and the folders with those inside open ones. Takes
 * O(folders).
 */
export function folderRows(folders: readonly Folder[], open: ReadonlySet<string>): FolderRow[] {
  const inside = Map.groupBy(folders, ({ parentPath }) => parentPath);
  const size = (inside.get(ROOT)?.length ?? 0) + 2;
  const shared = { locked: false, level: 1, isOpen: undefined, size };
  const rows: FolderRow[] = [
    { ...shared, path: '', name: ALL, position: 1 },
    { ...shared, path: ROOT, name: NO_FOLDER, position: 2 },
  ];
  const add = (parentPath: string, level: number): void => {
    const own = inside.get(parentPath) ?? [];
    for (const [index, { path, name, locked }] of own.entries()) {
      const isOpen = inside.has(path) ? open.has(path) : undefined;
      const before = level === 1 ? 2 : 0;
      rows.push({
        ...{ path, name, locked, level, isOpen },
        size: own.length + before,
        position: index + 1 + before,
      });
      if (isOpen === true) add(path, level + 1);
    }
  };
  add(ROOT, 1);
  return rows;
}

/** The action of a key in the tree: it moves to a row, or opens or closes the folder of the current one. */
export type TreeMove = { to: number } | { isOpen: boolean };

/** Returns the action of a key at a row; undefined for other keys, and where the key has no effect. */
export function moveOf(key: string, index: number, rows: readonly FolderRow[]): TreeMove | undefined {
  const row = rows[index];
  if (!row) return undefined;
  if (key === 'ArrowRight') return rightOf(row, index);
  if (key === 'ArrowLeft') return leftOf(row, index, rows);
  const targets: { readonly [key: string]: number | undefined } = {
    ArrowDown: Math.min(index + 1, rows.length - 1),
    ArrowUp: Math.max(index - 1, 0),
    Home: 0,
    End: rows.length - 1,
  };
  const to = targets[key];
  return to === undefined || to === index ? undefined : { to };
}

function rightOf({ isOpen }: FolderRow, index: number): TreeMove | undefined {
  if (isOpen === undefined) return undefined;
  return isOpen ? { to: index + 1 } : { isOpen: true };
}

function leftOf(
  { isOpen, level }: FolderRow,
  index: number,
  rows: readonly FolderRow[],
): TreeMove | undefined {
  if (isOpen === true) return { isOpen: false };
  const to = rows.findLastIndex((each, at) => at < index && each.level === level - 1);
  return to < 0 ? undefined : { to };
}

/** Returns the path of a subfolder of a folder. */
export function pathIn(parentPath: string, name: string): string {
  // encodeURIComponent does not encode these.
  const encoded = encodeURIComponent(name).replaceAll(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return parentPath === ROOT ? `/${encoded}` : `${parentPath}/${encoded}`;
}

/** Returns the path of the parent of a folder. */
export function parentOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end <= 0 ? ROOT : path.slice(0, end);
}

/** Returns a path as a person reads it. */
export function pathText(path: string): string {
  return path.split('/').slice(1).map(decoded).join(' / ');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // The address of the page may have any text.
    return segment;
  }
}
