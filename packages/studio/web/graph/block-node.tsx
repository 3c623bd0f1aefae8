import { Handle, Position, useStore } from '@xyflow/react';
import type { Node, NodeProps } from '@xyflow/react';
import type { BlockState, Graph } from '../api/queries.ts';
import { durationText } from '../parts/time.tsx';
import { statusOf } from './block-status.ts';

export type BlockNodeData = {
  block: Graph['blocks'][number];
  isContainer: boolean;
  state: BlockState | undefined;
  isSelected: boolean;
};

/** Below this zoom a block is less than 25 pixels high, and its text cannot be read. */
export const READABLE_ZOOM = 25 / 56;

/** A block of the graph, as a plain box when it is too small to read. */
export function BlockNode({ data }: NodeProps<Node<BlockNodeData>>) {
  const isReadable = useStore(({ transform }) => transform[2] >= READABLE_ZOOM);
  const { block, isContainer, state, isSelected } = data;
  return (
    <div
      className={`block${isContainer ? ' block-container' : ''}`}
      data-status={statusOf(state)}
      data-selected={isSelected || undefined}
      data-disabled={!block.enabled || undefined}
    >
      <Handle type="target" position={Position.Left} isConnectable={false} />
      {isReadable && (
        <div className="block-text">
          <span className="block-name" dir="auto">
            {block.name}
          </span>
          <span className="block-note">
            <span>{block.type.replaceAll('_', ' ')}</span>
            <span>{noteOf(state)}</span>
          </span>
        </div>
      )}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

/** Returns how long a block took, or how often it ran. */
function noteOf(state: BlockState | undefined): string {
  if (!state) return '';
  if (state.iterations) return `${state.iterations.completed}/${state.iterations.total}`;
  if (state.total > 1)
    return state.failed > 0 ? `${state.total}× · ${state.failed} failed` : `${state.total}×`;
  return state.durationMs === null ? '' : durationText(state.durationMs);
}
