import { useInfiniteQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef } from 'react';
import { spansQuery } from '../api/queries.ts';
import type { Overview, Span } from '../api/queries.ts';
import { EmptyNotice, ErrorNotice, Loading } from '../components/notice.tsx';
import { formatDuration } from '../components/format.tsx';
import { STATUS_NAMES } from '../graph/block-status.ts';
import { createTimeScale } from './time-scale.ts';

const ROW_HEIGHT_PX = 26;

interface TimelineProps {
  run: Overview;
  selectedSpanId: string | undefined;
  selectSpan: (spanId: string) => void;
}

/** The spans of a run on a time axis. Only the rows in view are mounted, and pages are loaded as they are reached. */
export function Timeline({ run, selectedSpanId, selectSpan }: TimelineProps) {
  const spans = useInfiniteQuery(spansQuery(run.runId, {}));
  const loadedSpans = useMemo(() => spans.data?.pages.flatMap(({ data }) => data) ?? [], [spans.data]);
  const scale = useMemo(
    () => createTimeScale(loadedSpans, Date.now() - Date.parse(run.startedAt ?? run.createdAt)),
    [loadedSpans, run],
  );
  const listRef = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: loadedSpans.length,
    getScrollElement: () => listRef.current,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: 10,
  });
  const virtualItems = virtualizer.getVirtualItems();
  const lastVisibleIndex = virtualItems.at(-1)?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = spans;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && lastVisibleIndex >= loadedSpans.length - 50)
      void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, lastVisibleIndex, loadedSpans.length]);
  if (spans.error) return <ErrorNotice error={spans.error} retry={spans.refetch} />;
  if (spans.isPending) return <Loading label="spans" />;
  if (loadedSpans.length === 0) return <EmptyNotice title="No block has run yet" />;
  return (
    <div className="timeline">
      {scale.collapsedMs > 0 && (
        <p className="value-note">{formatDuration(scale.collapsedMs)} of idle time is collapsed.</p>
      )}
      <div ref={listRef} className="timeline-scroll">
        <ol style={{ height: virtualizer.getTotalSize() }} aria-label="Spans">
          {virtualItems.map(({ index, start }) => {
            const span = loadedSpans[index];
            if (!span) return null;
            const position = {
              left: `${scale.positionAt(span.relativeStartMs) * 100}%`,
              width: `${scale.widthOf(span) * 100}%`,
            };
            return (
              <li
                key={span.id}
                style={{ transform: `translateY(${start}px)` }}
                aria-setsize={loadedSpans.length}
                aria-posinset={index + 1}
              >
                <Row {...{ span, position, selectSpan }} isSelected={selectedSpanId === span.id} />
              </li>
            );
          })}
        </ol>
      </div>
    </div>
  );
}

interface RowProps {
  span: Span;
  position: { left: string; width: string };
  isSelected: boolean;
  selectSpan: (spanId: string) => void;
}

function Row({ span, position, isSelected, selectSpan }: RowProps) {
  const { id, name, depth, status, durationMs, errorHandled } = span;
  const shownStatus = status === 'failed' && errorHandled ? 'handled' : status;
  return (
    <button
      type="button"
      className="timeline-row"
      aria-current={isSelected ? 'true' : undefined}
      onClick={() => selectSpan(id)}
    >
      <span className="timeline-name" style={{ paddingInlineStart: `${depth * 12}px` }}>
        <span className="status-mark" data-status={shownStatus} aria-hidden="true" />
        <bdi className="clip">{name}</bdi>
        <span className="hidden">, {STATUS_NAMES[shownStatus]}, </span>
      </span>
      <span className="timeline-track">
        <span className="timeline-bar" data-status={shownStatus} style={position} />
      </span>
      <span className="number">{durationMs === null ? '' : formatDuration(durationMs)}</span>
    </button>
  );
}
