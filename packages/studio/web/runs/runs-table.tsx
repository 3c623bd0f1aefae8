import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import type { LogEntry } from '../api/queries.ts';
import { Status } from '../components/status.tsx';
import { Time, formatCost, formatDuration } from '../components/format.tsx';

const ROW_HEIGHT_PX = 36;

interface RunsTableProps {
  rows: readonly LogEntry[];
  selectedIds: ReadonlySet<string>;
  select: (ids: ReadonlySet<string>) => void;
  /** Loads the next page; undefined when there is none. */
  loadMore: (() => void) | undefined;
}

/** The runs. Only the rows in view are mounted. */
export function RunsTable({ rows, selectedIds, select, loadMore }: RunsTableProps) {
  const listRef = useRef<HTMLDivElement>(null);
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: 12,
    scrollMargin: listRef.current?.offsetTop ?? 0,
  });
  const toggle = (id: string) => {
    const nextIds = new Set(selectedIds);
    if (!nextIds.delete(id)) nextIds.add(id);
    select(nextIds);
  };
  return (
    <div role="table" aria-label="Runs" aria-rowcount={rows.length + 1} className="table">
      <div role="row" className="table-row table-head" aria-rowindex={1}>
        {['Select', 'Status', 'Workflow', 'Trigger', 'Started', 'Duration', 'Cost', 'Run'].map((name) => (
          <span role="columnheader" key={name}>
            {name === 'Select' ? <span className="hidden">{name}</span> : name}
          </span>
        ))}
      </div>
      <div
        ref={listRef}
        role="rowgroup"
        className="table-body"
        style={{ height: virtualizer.getTotalSize() }}
      >
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          const top = start - virtualizer.options.scrollMargin;
          return (
            row && (
              <Row
                key={row.runId}
                {...{ row, index, top }}
                checked={selectedIds.has(row.runId)}
                toggle={() => toggle(row.runId)}
              />
            )
          );
        })}
      </div>
      {loadMore && (
        <button type="button" className="button more" onClick={loadMore}>
          Show older runs
        </button>
      )}
    </div>
  );
}

interface RowProps {
  row: LogEntry;
  index: number;
  top: number;
  checked: boolean;
  toggle: () => void;
}

function Row({ row, index, top, checked, toggle }: RowProps) {
  const { runId, status, trigger, startedAt, totalDurationMs, cost, workflow } = row;
  return (
    <div
      role="row"
      className="table-row"
      aria-rowindex={index + 2}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span role="cell">
        <input type="checkbox" aria-label={`Select run ${runId}`} checked={checked} onChange={toggle} />
      </span>
      <span role="cell">
        <Status status={status} />
      </span>
      <span role="cell" className="clip">
        <Link to="/runs/$runId" params={{ runId }} search={{}} className="row-link">
          <bdi>{workflow?.name ?? row.workflowId}</bdi>
        </Link>
      </span>
      <span role="cell">{trigger}</span>
      <span role="cell">
        <Time iso={startedAt} />
      </span>
      <span role="cell" className="number">
        {totalDurationMs === null ? '–' : formatDuration(totalDurationMs)}
      </span>
      <span role="cell" className="number">
        {cost ? formatCost(cost.total) : '–'}
      </span>
      <span role="cell" className="clip mono">
        <bdi>{runId}</bdi>
      </span>
    </div>
  );
}
