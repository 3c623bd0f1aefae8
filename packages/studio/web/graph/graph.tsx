import {
  Controls,
  ReactFlow,
  ReactFlowProvider,
  getViewportForBounds,
  useReactFlow,
  useStore,
} from '@xyflow/react';
import type { Viewport } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import '../styles/graph.css';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { MouseEvent } from 'react';
import type { BlockState, Graph } from '../api/queries.ts';
import { Loading } from '../components/notice.tsx';
import { SimplifiedBlocks } from './simplified-blocks.tsx';
import { BLOCK_HEIGHT, BLOCK_WIDTH, toAbsoluteBoxes, boundsOf } from './layout.ts';
import type { Box } from './layout.ts';
import { DetailedBlocks } from './detailed-blocks.tsx';
import { useLayout } from './use-layout.ts';

/** Below this zoom a block is less than 25 pixels high, and its text cannot be read. */
const READABLE_ZOOM = 25 / BLOCK_HEIGHT;
const PADDING = 0.05;
const MIN_ZOOM = 0.02;
/** With more blocks, a graph whose text is too small to read is drawn as a few paths, not as thousands of elements. */
const MAX_SMALL_GRAPH_BLOCKS = 300;
/** Windows up to this width show only the beginning of a graph whose names would be too small to read. */
const NARROW_WIDTH_PX = 600;
const NARROW_ZOOM = 0.7;
const NO_STATES: readonly BlockState[] = [];

type Size = Pick<Box, 'width' | 'height'>;

interface GraphProps {
  graph: Graph;
  /** Undefined: the graph does not belong to a run. */
  states?: readonly BlockState[];
  selectedId: string | undefined;
  selectBlock: (blockId: string) => void;
}

/**
 * The blocks, with their states in a run. Only blocks in view are mounted. The outline is for keyboard users
 * and screen readers.
 */
export function BlockGraph(props: GraphProps) {
  const relativeBoxes = useLayout(props.graph);
  const elementRef = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size>();
  useLayoutEffect(() => {
    if (elementRef.current) setSize(elementRef.current.getBoundingClientRect());
  }, []);
  // While the graph moves, the browser keeps it as a separate layer, and does not repaint it in each animation frame.
  const setMoving = (isMoving: boolean): void =>
    void elementRef.current?.toggleAttribute('data-moving', isMoving);
  return (
    <div className="graph" role="region" aria-label="Graph" ref={elementRef}>
      {relativeBoxes && size ? (
        <ReactFlowProvider initialWidth={size.width} initialHeight={size.height}>
          <DrawnGraph {...props} {...{ relativeBoxes, size, setMoving }} />
        </ReactFlowProvider>
      ) : (
        <Loading label="the graph" />
      )}
    </div>
  );
}

interface DrawnGraphProps extends GraphProps {
  /** Boxes relative to their containers. */
  relativeBoxes: ReadonlyMap<string, Box>;
  /** The size of the element when the graph is mounted, so that its first view already shows the whole graph. */
  size: Size;
  setMoving: (isMoving: boolean) => void;
}

function DrawnGraph({
  graph,
  states = NO_STATES,
  selectedId,
  selectBlock,
  relativeBoxes,
  size,
  setMoving,
}: DrawnGraphProps) {
  const stateByBlockId = useMemo(() => new Map(states.map((state) => [state.blockId, state])), [states]);
  const boxes = useMemo(() => toAbsoluteBoxes(graph.blocks, relativeBoxes), [graph, relativeBoxes]);
  const isLarge = graph.blocks.length > MAX_SMALL_GRAPH_BLOCKS;
  const isSmallText = useStore(({ transform }) => transform[2] < READABLE_ZOOM);
  // Until the view is set, blocks out of view would be mounted.
  const isReady = useStore(({ panZoom }) => panZoom !== null);
  const isSimplified = isLarge && isSmallText;
  const { screenToFlowPosition } = useReactFlow();
  const { fit, onMoved } = useFitView(boxes);
  const [initialView] = useState(() => viewportOf(boxes, size));
  const selectAt = ({ clientX, clientY }: MouseEvent): void => {
    const id = isSimplified ? blockAt(boxes, screenToFlowPosition({ x: clientX, y: clientY })) : undefined;
    if (id !== undefined) selectBlock(id);
  };
  return (
    <ReactFlow
      onPaneClick={selectAt}
      onMoveStart={(event) => {
        onMoved(event);
        setMoving(true);
      }}
      onMoveEnd={() => setMoving(false)}
      defaultViewport={initialView}
      elementsSelectable={false}
      minZoom={MIN_ZOOM}
      proOptions={{ hideAttribution: true }}
    >
      <Controls showInteractive={false} onFitView={fit} />
      {isReady && isSimplified && <SimplifiedBlocks {...{ boxes, stateByBlockId, selectedId }} />}
      {isReady && !isSimplified && (
        <DetailedBlocks
          {...{ graph, boxes, stateByBlockId, selectedId, selectBlock }}
          isReadable={!isSmallText}
        />
      )}
      {isLarge && <SelectionFollower blockId={selectedId} boxes={boxes} />}
    </ReactFlow>
  );
}

/** Keeps the whole graph in view, also when its element is resized, until the user moves the graph. */
function useFitView(boxes: ReadonlyMap<string, Box>): { fit: () => void; onMoved: (event: unknown) => void } {
  const { setViewport } = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const isMovedRef = useRef(false);
  const fit = useCallback((): void => {
    if (width === 0 || height === 0) return;
    isMovedRef.current = false;
    void setViewport(viewportOf(boxes, { width, height }));
  }, [boxes, width, height, setViewport]);
  useEffect(() => {
    if (!isMovedRef.current) fit();
  }, [fit]);
  // Programmatic moves have no event.
  const onMoved = (event: unknown): void => void (isMovedRef.current ||= event !== null);
  return { fit, onMoved };
}

/** Returns a view of the whole graph. In a narrow window, a small graph is cut off so that its names are readable. */
function viewportOf(boxes: ReadonlyMap<string, Box>, { width, height }: Size): Viewport {
  const bounds = boundsOf(boxes.values());
  const fullView = getViewportForBounds(bounds, width, height, MIN_ZOOM, 1, PADDING);
  if (width > NARROW_WIDTH_PX || boxes.size > MAX_SMALL_GRAPH_BLOCKS || fullView.zoom >= READABLE_ZOOM)
    return fullView;
  const zoom = NARROW_ZOOM;
  return {
    zoom,
    x: width * PADDING - bounds.x * zoom,
    y: height / 2 - (bounds.y + bounds.height / 2) * zoom,
  };
}

/** Returns the innermost block at a point. */
function blockAt(boxes: ReadonlyMap<string, Box>, point: { x: number; y: number }): string | undefined {
  return [...boxes].findLast(
    ([, { x, y, width, height }]) =>
      point.x >= x && point.x <= x + width && point.y >= y && point.y <= y + height,
  )?.[0];
}

/** Moves a large graph so that the selected block is centred and readable. */
function SelectionFollower({
  blockId,
  boxes,
}: {
  blockId: string | undefined;
  boxes: ReadonlyMap<string, Box>;
}) {
  const { getZoom, setCenter } = useReactFlow();
  useEffect(() => {
    const box = blockId === undefined ? undefined : boxes.get(blockId);
    if (!box) return;
    const zoom = Math.max(getZoom(), READABLE_ZOOM);
    void setCenter(box.x + BLOCK_WIDTH / 2, box.y + BLOCK_HEIGHT / 2, { zoom });
  }, [blockId, boxes, getZoom, setCenter]);
  return null;
}
