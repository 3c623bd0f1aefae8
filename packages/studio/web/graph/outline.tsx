import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { KeyboardEvent } from 'react';
import type { BlockState, Graph } from '../api/queries.ts';
import { useRowFocus } from '../components/row-focus.ts';
import { STATUS_NAMES, statusOf } from './block-status.ts';
import { toOutlineRows, targetIndexOf } from './outline-rows.ts';

const ROW_HEIGHT_PX = 30;

interface OutlineProps {
  graph: Graph;
  /** Undefined: the graph does not belong to a run. */
  states?: readonly BlockState[];
  selectedId: string | undefined;
  selectBlock: (blockId: string) => void;
}

/**
 * The blocks as a list, for keyboard users, screen readers and narrow screens. The list is one tab stop: arrow
 * keys, Home and End move the focus. Only the rows in view are mounted.
 */
export function Outline({ graph, states, selectedId, selectBlock }: OutlineProps) {
  const stateByBlockId = useMemo(() => new Map(states?.map((state) => [state.blockId, state])), [states]);
  const rows = useMemo(() => toOutlineRows(graph.blocks), [graph]);
  const containerRef = useRef<HTMLElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => containerRef.current,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: 8,
  });
  const selectedIndex = rows.findIndex(({ block }) => block.id === selectedId);
  const [activeIndex, setActiveIndex] = useState(0);
  const { move, rowRef } = useRowFocus(activeIndex, setActiveIndex, virtualizer);
  useEffect(() => {
    if (selectedIndex < 0) return;
    setActiveIndex(selectedIndex);
    virtualizer.scrollToIndex(selectedIndex);
  }, [selectedIndex, virtualizer]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const targetIndex = targetIndexOf(event.key, activeIndex, rows);
    if (targetIndex === undefined) return;
    event.preventDefault();
    move(targetIndex);
  };
  return (
    <nav className="outline" aria-label="Blocks" ref={containerRef}>
      <ul style={{ height: virtualizer.getTotalSize() }} onKeyDown={onKeyDown}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (!row) return null;
          const { id, name, type } = row.block;
          const status = statusOf(stateByBlockId.get(id));
          const note = states ? STATUS_NAMES[status] : type.replaceAll('_', ' ');
          return (
            <li
              key={id}
              aria-setsize={rows.length}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${start}px)`, paddingInlineStart: `${row.depth * 14}px` }}
            >
              <button
                type="button"
                ref={rowRef(index)}
                tabIndex={index === activeIndex ? 0 : -1}
                aria-label={`${name}, ${note}`}
                aria-current={index === selectedIndex ? 'true' : undefined}
                onClick={() => selectBlock(id)}
                onFocus={() => setActiveIndex(index)}
              >
                <span className="status-mark" data-status={status} aria-hidden="true" />
                <bdi className="clip">{name}</bdi>
              </button>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
