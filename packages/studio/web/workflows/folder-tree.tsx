import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState } from 'react';
import type { KeyboardEvent } from 'react';
import { useRowFocus } from '../components/row-focus.ts';
import { toFolderRows, keyActionOf, parentOf } from './folder-rows.ts';
import type { Folder, FolderRow } from './folder-rows.ts';

const ROW_HEIGHT_PX = 30;
const INDENT_PX = 14;

interface TreeProps {
  folders: readonly Folder[];
  /** The path of the selected folder; empty: all workflows. */
  selectedPath: string;
  select: (path: string) => void;
}

/**
 * The folders as a tree. The tree is one tab stop: arrow keys, Home and End move the focus, right and left also open
 * and close a folder, and Enter and Space select a folder. Only the rows in view are mounted.
 */
export function FolderTree({ folders, selectedPath, select }: TreeProps) {
  const [openPaths, setOpenPaths] = useState<ReadonlySet<string>>(() => ancestorsOf(selectedPath));
  const rows = useMemo(() => toFolderRows(folders, openPaths), [folders, openPaths]);
  const containerRef = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => containerRef.current,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: 8,
  });
  const height = virtualizer.getTotalSize();
  const [activePath, setActivePath] = useState(selectedPath);
  const foundIndex = rows.findIndex(({ path }) => path === activePath);
  const activeIndex = Math.max(foundIndex, 0);
  const activate = (index: number): void => setActivePath(rows[index]?.path ?? '');
  const { move, rowRef } = useRowFocus(activeIndex, activate, virtualizer);
  const setFolderOpen = ({ path }: FolderRow, isOpen: boolean): void => {
    const otherPaths = [...openPaths].filter((openPath) => openPath !== path);
    setOpenPaths(new Set(isOpen ? [...otherPaths, path] : otherPaths));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[activeIndex];
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const isSelectKey = event.key === 'Enter' || event.key === ' ';
    const keyAction = keyActionOf(event.key, activeIndex, rows);
    if (!isSelectKey && !keyAction) return;
    event.preventDefault();
    if (isSelectKey) select(row.path);
    else if (keyAction && 'targetIndex' in keyAction) move(keyAction.targetIndex);
    else if (keyAction) setFolderOpen(row, keyAction.isOpen);
  };
  return (
    <div className="folder-tree" ref={containerRef}>
      <ul role="tree" aria-label="Folders" style={{ height }} onKeyDown={onKeyDown}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          return (
            row && (
              <TreeItem
                key={row.path}
                row={row}
                top={start}
                isActive={index === activeIndex}
                isSelected={row.path === selectedPath}
                itemRef={rowRef(index)}
                choose={() => {
                  setActivePath(row.path);
                  select(row.path);
                }}
                setOpen={(isOpen) => setFolderOpen(row, isOpen)}
              />
            )
          );
        })}
      </ul>
    </div>
  );
}

interface ItemProps {
  row: FolderRow;
  top: number;
  isActive: boolean;
  isSelected: boolean;
  itemRef: (element: HTMLElement | null) => void;
  choose: () => void;
  setOpen: (isOpen: boolean) => void;
}

function TreeItem({ row, top, isActive, isSelected, itemRef, choose, setOpen }: ItemProps) {
  const { name, level, isOpen, locked, size, position } = row;
  return (
    <li
      role="treeitem"
      ref={itemRef}
      tabIndex={isActive ? 0 : -1}
      aria-level={level}
      aria-setsize={size}
      aria-posinset={position}
      aria-expanded={isOpen}
      aria-selected={isSelected}
      aria-label={locked ? `${name}, locked` : name}
      style={{ transform: `translateY(${top}px)`, paddingInlineStart: (level - 1) * INDENT_PX }}
      onClick={choose}
    >
      <span
        className="folder-mark"
        aria-hidden="true"
        onClick={(event) => {
          if (isOpen === undefined) return;
          event.stopPropagation();
          setOpen(!isOpen);
        }}
      >
        {isOpen === undefined ? '' : isOpen ? '▾' : '▸'}
      </span>
      <bdi className="clip">{name}</bdi>
      {locked && (
        <span className="value-note" aria-hidden="true">
          locked
        </span>
      )}
    </li>
  );
}

/** Returns the ancestors of a folder. They are open at first, so that the folder is visible. */
function ancestorsOf(path: string): Set<string> {
  const ancestors = new Set<string>();
  for (let ancestor = parentOf(path); ancestor !== parentOf(ancestor); ancestor = parentOf(ancestor))
    ancestors.add(ancestor);
  return ancestors;
}
