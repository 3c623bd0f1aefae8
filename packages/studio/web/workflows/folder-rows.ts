/** A folder as the HTTP API lists it. */
export interface Folder {
  name: string;
  /** Percent-encoded, with a slash before each name. */
  path: string;
  parentPath: string;
  locked: boolean;
}

/** A row of the tree. */
export interface FolderRow {
  /** The path of the folder; empty for all workflows. It is the key of the row and the filter of the list. */
  path: string;
  name: string;
  locked: boolean;
  /** Starts at 1. */
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
 * Returns the visible rows: all workflows, those without a folder, and the folders, including those in open folders.
 * Takes O(folders).
 */
export function toFolderRows(folders: readonly Folder[], openPaths: ReadonlySet<string>): FolderRow[] {
  const children = Map.groupBy(folders, ({ parentPath }) => parentPath);
  const size = (children.get(ROOT)?.length ?? 0) + 2;
  const shared = { locked: false, level: 1, isOpen: undefined, size };
  const rows: FolderRow[] = [
    { ...shared, path: '', name: ALL, position: 1 },
    { ...shared, path: ROOT, name: NO_FOLDER, position: 2 },
  ];
  const add = (parentPath: string, level: number): void => {
    const siblings = children.get(parentPath) ?? [];
    for (const [index, { path, name, locked }] of siblings.entries()) {
      const isOpen = children.has(path) ? openPaths.has(path) : undefined;
      const fixedRows = level === 1 ? 2 : 0;
      rows.push({
        path,
        name,
        locked,
        level,
        isOpen,
        size: siblings.length + fixedRows,
        position: index + 1 + fixedRows,
      });
      if (isOpen === true) add(path, level + 1);
    }
  };
  add(ROOT, 1);
  return rows;
}

/** The action of a key in the tree: it moves to a row, or opens or closes the current folder. */
export type TreeKeyAction = { to: number } | { isOpen: boolean };

/** Returns the action of a key at the row with this index; undefined if the key has no effect. */
export function keyActionOf(
  key: string,
  index: number,
  rows: readonly FolderRow[],
): TreeKeyAction | undefined {
  const row = rows[index];
  if (!row) return undefined;
  if (key === 'ArrowRight') return rightKeyAction(row, index);
  if (key === 'ArrowLeft') return leftKeyAction(row, index, rows);
  const targets: { readonly [key: string]: number | undefined } = {
    ArrowDown: Math.min(index + 1, rows.length - 1),
    ArrowUp: Math.max(index - 1, 0),
    Home: 0,
    End: rows.length - 1,
  };
  const to = targets[key];
  return to === undefined || to === index ? undefined : { to };
}

function rightKeyAction({ isOpen }: FolderRow, index: number): TreeKeyAction | undefined {
  if (isOpen === undefined) return undefined;
  return isOpen ? { to: index + 1 } : { isOpen: true };
}

function leftKeyAction(
  { isOpen, level }: FolderRow,
  index: number,
  rows: readonly FolderRow[],
): TreeKeyAction | undefined {
  if (isOpen === true) return { isOpen: false };
  const to = rows.findLastIndex((each, eachIndex) => eachIndex < index && each.level === level - 1);
  return to < 0 ? undefined : { to };
}

/** Returns the path of a subfolder of a folder. */
export function subfolderPath(parentPath: string, name: string): string {
  // encodeURIComponent does not encode these characters.
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

/** Returns a path in readable form: its decoded names, separated by slashes. */
export function pathText(path: string): string {
  return path.split('/').slice(1).map(decodeSegment).join(' / ');
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // The URL of the page may contain any text.
    return segment;
  }
}
