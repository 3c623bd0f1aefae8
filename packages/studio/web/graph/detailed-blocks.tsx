import { EdgeText, ViewportPortal, useStore } from '@xyflow/react';
import { Fragment, memo, useId, useMemo } from 'react';
import type { BlockState, Graph } from '../api/queries.ts';
import { formatDuration } from '../components/format.tsx';
import { statusOf } from './block-status.ts';
import { layersOf, boxesOverlap, boxToMount } from './layers.ts';
import type { Line, PositionedBlock } from './layers.ts';
import { boundsOf } from './layout.ts';
import type { Box } from './layout.ts';

interface DetailedBlocksProps {
  graph: Graph;
  /** Boxes in coordinates of the whole graph, each container before its blocks. */
  boxes: ReadonlyMap<string, Box>;
  stateByBlockId: ReadonlyMap<string, BlockState>;
  selectedId: string | undefined;
  /** False: the text of blocks is too small to read, and is not drawn. */
  isReadable: boolean;
  selectBlock: (blockId: string) => void;
}

/**
 * The blocks and lines in view. The boxes of blocks are known, so nothing is measured. Blocks do not render again while
 * the view moves by less than a step of the grid of `boxToMount`.
 */
export function DetailedBlocks({
  graph,
  boxes,
  stateByBlockId,
  selectedId,
  isReadable,
  selectBlock,
}: DetailedBlocksProps) {
  const layers = useMemo(() => layersOf(graph, boxes), [graph, boxes]);
  const mountedBox = useBoxToMount();
  return (
    <ViewportPortal>
      <Dots boxes={boxes} />
      {layers.map(({ lines, blocks }, depth) => (
        <Fragment key={depth}>
          <svg className="lines">
            {lines
              .filter(({ box }) => boxesOverlap(box, mountedBox))
              .map((line) => (
                <DrawnLine
                  key={line.id}
                  line={line}
                  hasRun={stateByBlockId.has(line.source) && stateByBlockId.has(line.target)}
                />
              ))}
          </svg>
          {blocks
            .filter(({ box }) => boxesOverlap(box, mountedBox))
            .map((positionedBlock) => (
              <Block
                key={positionedBlock.block.id}
                {...{ positionedBlock, isReadable, selectBlock }}
                state={stateByBlockId.get(positionedBlock.block.id)}
                isSelected={positionedBlock.block.id === selectedId}
              />
            ))}
        </Fragment>
      ))}
    </ViewportPortal>
  );
}

/** Returns the part of the graph whose blocks are mounted. */
function useBoxToMount(): Box {
  // The selector returns a string, because a new object would cause a render at each move.
  const encodedBox = useStore((state) => {
    const { x, y, width, height } = boxToMount(state);
    return `${x} ${y} ${width} ${height}`;
  });
  return useMemo(() => {
    const [x = 0, y = 0, width = 0, height = 0] = encodedBox.split(' ').map(Number);
    return { x, y, width, height };
  }, [encodedBox]);
}

interface BlockProps {
  positionedBlock: PositionedBlock;
  state: BlockState | undefined;
  isSelected: boolean;
  isReadable: boolean;
  selectBlock: (blockId: string) => void;
}

const Block = memo(function Block({
  positionedBlock,
  state,
  isSelected,
  isReadable,
  selectBlock,
}: BlockProps) {
  const { block, box, isContainer } = positionedBlock;
  return (
    <div
      className={`block${isContainer ? ' block-container' : ''}`}
      style={{ left: box.x, top: box.y, width: box.width, height: box.height }}
      data-status={statusOf(state)}
      data-selected={isSelected || undefined}
      data-disabled={!block.enabled || undefined}
      onClick={() => selectBlock(block.id)}
    >
      {isReadable && (
        <>
          <span className="block-name" dir="auto">
            {block.name}
          </span>
          <span className="block-note">
            <span>{block.type.replaceAll('_', ' ')}</span>
            <span>{formatProgress(state)}</span>
          </span>
        </>
      )}
    </div>
  );
});

/** Returns the progress of the iterations of a block, how often it ran, or how long it took. */
function formatProgress(state: BlockState | undefined): string {
  if (!state) return '';
  if (state.iterations) return `${state.iterations.completed}/${state.iterations.total}`;
  if (state.total > 1)
    return state.failed > 0 ? `${state.total}× · ${state.failed} failed` : `${state.total}×`;
  return state.durationMs === null ? '' : formatDuration(state.durationMs);
}

const DrawnLine = memo(function DrawnLine({ line, hasRun }: { line: Line; hasRun: boolean }) {
  const { isError, path, label, labelPosition } = line;
  return (
    <>
      <path className="line" data-error={isError || undefined} data-ran={hasRun || undefined} d={path} />
      {label !== undefined && <EdgeText {...labelPosition} label={label} />}
    </>
  );
});

const DOT_GAP = 24;
/** Distance by which the dots extend beyond the blocks. */
const DOTS_MARGIN = 3000;

/** The background. It moves with the blocks, because a background of the pane would be drawn again at each move. */
const Dots = memo(function Dots({ boxes }: { boxes: ReadonlyMap<string, Box> }) {
  const id = useId();
  const { x, y, width, height } = useMemo(() => boundsOf(boxes.values()), [boxes]);
  const [left, top] = [x, y].map((coordinate) => Math.floor((coordinate - DOTS_MARGIN) / DOT_GAP) * DOT_GAP);
  return (
    <svg className="dots" aria-hidden="true">
      <pattern id={id} width={DOT_GAP} height={DOT_GAP} patternUnits="userSpaceOnUse">
        <circle cx={DOT_GAP / 2 + 0.5} cy={DOT_GAP / 2 + 0.5} r={0.5} />
      </pattern>
      <rect
        {...{ x: left, y: top, width: width + 2 * DOTS_MARGIN, height: height + 2 * DOTS_MARGIN }}
        fill={`url(#${id})`}
      />
    </svg>
  );
});
