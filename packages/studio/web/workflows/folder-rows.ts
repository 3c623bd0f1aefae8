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
const ALL_WORKFLOWS = 'All workflows';
const NO_FOLDER = 'Without a folder';

/**
 * Returns the visible rows: all workflows, those without a folder, and the folders, including those in open folders.
 * Takes O(folders).
 */
export function toFolderRows(folders: readonly Folder[], openPaths: ReadonlySet<string>): FolderRow[] {
  const foldersByParentPath = Map.groupBy(folders, ({ parentPath }) => parentPath);
  const size = (foldersByParentPath.get(ROOT)?.length ?? 0) + 2;
  const sharedProperties = { locked: false, level: 1, isOpen: undefined, size };
  const rows: FolderRow[] = [
    { ...sharedProperties, path: '', name: ALL_WORKFLOWS, position: 1 },
    { ...sharedProperties, path: ROOT, name: NO_FOLDER, position: 2 },
  ];
  const addChildren = (parentPath: string, level: number): void => {
    const siblings = foldersByParentPath.get(parentPath) ?? [];
    for (const [index, { path, name, locked }] of siblings.entries()) {
      const isOpen = foldersByParentPath.has(path) ? openPaths.has(path) : undefined;
      const fixedRowCount = level === 1 ? 2 : 0;
      rows.push({
        path,
        name,
        locked,
        level,
        isOpen,
        size: siblings.length + fixedRowCount,
        position: index + 1 + fixedRowCount,
      });
      if (isOpen === true) addChildren(path, level + 1);
    }
  };
  addChildren(ROOT, 1);
  return rows;
}

/** The action of a key in the tree: it moves to a row, or opens or closes the current folder. */
export type TreeKeyAction = { targetIndex: number } | { isOpen: boolean };

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
  const targetIndexByKey: { readonly [key: string]: number | undefined } = {
    ArrowDown: Math.min(index + 1, rows.length - 1),
    ArrowUp: Math.max(index - 1, 0),
    Home: 0,
    End: rows.length - 1,
  };
  const targetIndex = targetIndexByKey[key];
  return targetIndex === undefined || targetIndex === index ? undefined : { targetIndex };
}

function rightKeyAction({ isOpen }: FolderRow, index: number): TreeKeyAction | undefined {
  if (isOpen === undefined) return undefined;
  return isOpen ? { targetIndex: index + 1 } : { isOpen: true };
}

function leftKeyAction(
  { isOpen, level }: FolderRow,
  index: number,
  rows: readonly FolderRow[],
): TreeKeyAction | undefined {
  if (isOpen === true) return { isOpen: false };
  const targetIndex = rows.findLastIndex((row, rowIndex) => rowIndex < index && row.level === level - 1);
  return targetIndex < 0 ? undefined : { targetIndex };
}

/** Returns the path of a subfolder of a folder. */
export function subfolderPath(parentPath: string, name: string): string {
  // encodeURIComponent does not encode these characters.
  const encodedName = encodeURIComponent(name).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return parentPath === ROOT ? `/${encodedName}` : `${parentPath}/${encodedName}`;
}

/** Returns the path of the parent of a folder. */
export function parentOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end <= 0 ? ROOT : path.slice(0, end);
}

/** Returns a path in readable form: its decoded names, separated by slashes. */
export function formatPath(path: string): string {
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
