import { ViewportPortal } from '@xyflow/react';
import { memo, useMemo } from 'react';
import type { BlockState } from '../api/queries.ts';
import { statusOf } from './block-status.ts';
import type { Box } from './layout.ts';

interface SimplifiedBlocksProps {
  /** Boxes in coordinates of the whole graph, each container before its blocks. */
  boxes: ReadonlyMap<string, Box>;
  stateByBlockId: ReadonlyMap<string, BlockState>;
  selectedId: string | undefined;
}

/** All blocks of a large graph as plain boxes: one element for each status, regardless of the number of blocks. */
export const SimplifiedBlocks = memo(function SimplifiedBlocks({
  boxes,
  stateByBlockId,
  selectedId,
}: SimplifiedBlocksProps) {
  const paths = useMemo(() => {
    const boxesByStatus = Map.groupBy(boxes, ([id]) => statusOf(stateByBlockId.get(id)));
    return [...boxesByStatus].map(([status, group]) => ({
      status,
      path: group.map(([, box]) => `M${box.x} ${box.y}h${box.width}v${box.height}h${-box.width}z`).join(''),
    }));
  }, [boxes, stateByBlockId]);
  const selectedBox = selectedId === undefined ? undefined : boxes.get(selectedId);
  return (
    <ViewportPortal>
      <svg className="simplified-blocks" aria-hidden="true">
        <g>
          {paths.map(({ status, path }) => (
            <path key={status} data-status={status} d={path} />
          ))}
          {selectedBox && <rect className="simplified-selected" {...selectedBox} />}
        </g>
      </svg>
    </ViewportPortal>
  );
});
