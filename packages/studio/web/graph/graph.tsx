import {
  Background,
  Controls,
  Position,
  ReactFlow,
  ReactFlowProvider,
  getViewportForBounds,
  useReactFlow,
  useStore,
} from '@xyflow/react';
import type { Edge, Node, NodeHandle, Viewport } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import '../styles/graph.css';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import type { MouseEvent } from 'react';
import type { BlockState, Graph } from '../api/queries.ts';
import { Loading } from '../parts/notice.tsx';
import { BlockNode, READABLE_ZOOM } from './block-node.tsx';
import type { BlockNodeData } from './block-node.tsx';
import { FarBlocks } from './far-blocks.tsx';
import { BLOCK_HEIGHT, BLOCK_WIDTH, absolutePlaces, boundsOf } from './layout.ts';
import type { Box } from './layout.ts';
import { usePlaces } from './use-places.ts';

const NODE_TYPES = { block: BlockNode };
const PADDING = 0.05;
const MIN_ZOOM = 0.02;
/** In larger graphs, blocks that are too small to read are drawn as a few paths, not as thousands of elements. */
const MOST_AT_ONCE = 300;
/** Windows up to this width show the beginning of a graph whose names could not be read as a whole. */
const NARROW_PX = 600;
const NARROW_ZOOM = 0.7;
const NO_NODES: Node<BlockNodeData>[] = [];
const NO_EDGES: Edge[] = [];
const NO_STATES: readonly BlockState[] = [];

interface GraphProps {
  graph: Graph;
  /** Undefined: the graph is not of a run. */
  states?: readonly BlockState[];
  selectedId: string | undefined;
  selectBlock: (blockId: string) => void;
}

/** The blocks, with their states in a run. Only blocks in view are mounted. The outline has the same blocks for keyboards and readers. */
export function BlockGraph(props: GraphProps) {
  const places = usePlaces(props.graph);
  return (
    <div className="graph" role="region" aria-label="Graph">
      {places ? (
        <ReactFlowProvider>
          <DrawnGraph {...props} places={places} />
        </ReactFlowProvider>
      ) : (
        <Loading what="the graph" />
      )}
    </div>
  );
}

function DrawnGraph({
  graph,
  states = NO_STATES,
  selectedId,
  selectBlock,
  places,
}: GraphProps & { places: ReadonlyMap<string, Box> }) {
  const byBlock = useMemo(() => new Map(states.map((state) => [state.blockId, state])), [states]);
  const boxes = useMemo(() => absolutePlaces(graph.blocks, places), [graph, places]);
  const isLarge = graph.blocks.length > MOST_AT_ONCE;
  const isSmallText = useStore(({ transform }) => transform[2] < READABLE_ZOOM);
  const isFar = isLarge && isSmallText;
  const { screenToFlowPosition } = useReactFlow();
  const nodes = useMemo(
    () => nodesOf(graph, { places, byBlock, selectedId }),
    [graph, places, byBlock, selectedId],
  );
  const edges = useMemo(() => edgesOf(graph, byBlock), [graph, byBlock]);
  const { fit, onMoved } = useFit(boxes);
  const selectAt = ({ clientX, clientY }: MouseEvent): void => {
    const id = isFar ? blockAt(boxes, screenToFlowPosition({ x: clientX, y: clientY })) : undefined;
    if (id !== undefined) selectBlock(id);
  };
  return (
    <ReactFlow
      nodes={isFar ? NO_NODES : nodes}
      edges={isFar ? NO_EDGES : edges}
      nodeTypes={NODE_TYPES}
      onNodeClick={(_event, { id }) => selectBlock(id)}
      onPaneClick={selectAt}
      onMoveStart={onMoved}
      onlyRenderVisibleElements
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      elementsSelectable={false}
      minZoom={MIN_ZOOM}
      proOptions={{ hideAttribution: true }}
    >
      <Background gap={24} size={1} />
      <Controls showInteractive={false} onFitView={fit} />
      {isFar && <FarBlocks {...{ boxes, byBlock, selectedId }} />}
      {isLarge && <Follow blockId={selectedId} boxes={boxes} />}
    </ReactFlow>
  );
}

/** Keeps the whole graph in view, also when its place changes its size, until the reader moves it. */
function useFit(boxes: ReadonlyMap<string, Box>): { fit: () => void; onMoved: (event: unknown) => void } {
  const { setViewport } = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const isMoved = useRef(false);
  const fit = useCallback((): void => {
    if (width === 0 || height === 0) return;
    isMoved.current = false;
    void setViewport(viewportOf(boxes, width, height));
  }, [boxes, width, height, setViewport]);
  useEffect(() => {
    if (!isMoved.current) fit();
  }, [fit]);
  // Moves by the program have no event.
  const onMoved = (event: unknown): void => void (isMoved.current ||= event !== null);
  return { fit, onMoved };
}

/** Returns the view of the whole graph; in a narrow window, of the beginning of a small one, so that its names can be read. */
function viewportOf(boxes: ReadonlyMap<string, Box>, width: number, height: number): Viewport {
  const bounds = boundsOf(boxes.values());
  const whole = getViewportForBounds(bounds, width, height, MIN_ZOOM, 1, PADDING);
  if (width > NARROW_PX || boxes.size > MOST_AT_ONCE || whole.zoom >= READABLE_ZOOM) return whole;
  const zoom = NARROW_ZOOM;
  return {
    zoom,
    x: width * PADDING - bounds.x * zoom,
    y: height / 2 - (bounds.y + bounds.height / 2) * zoom,
  };
}

/** Returns the innermost block at a place. */
function blockAt(boxes: ReadonlyMap<string, Box>, at: { x: number; y: number }): string | undefined {
  return [...boxes].findLast(
    ([, { x, y, width, height }]) => at.x >= x && at.x <= x + width && at.y >= y && at.y <= y + height,
  )?.[0];
}

/** Moves a large graph so that the selected block is in its middle, and can be read. */
function Follow({ blockId, boxes }: { blockId: string | undefined; boxes: ReadonlyMap<string, Box> }) {
  const { getZoom, setCenter } = useReactFlow();
  useEffect(() => {
    const box = blockId === undefined ? undefined : boxes.get(blockId);
    if (!box) return;
    const zoom = Math.max(getZoom(), READABLE_ZOOM);
    void setCenter(box.x + BLOCK_WIDTH / 2, box.y + BLOCK_HEIGHT / 2, { zoom });
  }, [blockId, boxes, getZoom, setCenter]);
  return null;
}

interface Shown {
  places: ReadonlyMap<string, Box>;
  byBlock: ReadonlyMap<string, BlockState>;
  selectedId: string | undefined;
}

function nodesOf(graph: Graph, { places, byBlock, selectedId }: Shown): Node<BlockNodeData>[] {
  const containers = new Set(graph.blocks.map(({ parentId }) => parentId));
  const nodes = graph.blocks.flatMap((block): Node<BlockNodeData>[] => {
    const box = places.get(block.id);
    if (!box) return [];
    const isContainer = containers.has(block.id);
    const { x, y, width, height } = box;
    const isInside = block.parentId !== null && places.has(block.parentId);
    return [
      {
        ...{ id: block.id, type: 'block', position: { x, y }, width, height },
        ...(isInside && block.parentId !== null && { parentId: block.parentId }),
        handles: handlesOf(width, isContainer ? BLOCK_HEIGHT : height),
        data: { block, isContainer, state: byBlock.get(block.id), isSelected: block.id === selectedId },
      },
    ];
  });
  // A container comes before its blocks.
  const parents = new Map(graph.blocks.map(({ id, parentId }) => [id, parentId]));
  const depths = new Map(nodes.map(({ id }) => [id, depthOf(parents, id)]));
  return nodes.toSorted((a, b) => (depths.get(a.id) ?? 0) - (depths.get(b.id) ?? 0));
}

function depthOf(parents: ReadonlyMap<string, string | null>, id: string): number {
  let depth = 0;
  for (let at = parents.get(id); at != null && depth < parents.size; at = parents.get(at)) depth += 1;
  return depth;
}

/** Places of the handles, so that edges are drawn without measuring the blocks. */
function handlesOf(width: number, height: number): NodeHandle[] {
  const at = { y: height / 2, width: 1, height: 1 };
  return [
    { ...at, type: 'target', position: Position.Left, x: 0 },
    { ...at, type: 'source', position: Position.Right, x: width },
  ];
}

function edgesOf(graph: Graph, byBlock: ReadonlyMap<string, BlockState>): Edge[] {
  const titles = new Map(
    graph.blocks.flatMap(({ ports }) => ports.map(({ id, title }) => [id, title] as const)),
  );
  const parents = new Map(graph.blocks.map(({ id, parentId }) => [id, parentId]));
  // A container surrounds its first block, so no line leads to it.
  const drawn = graph.edges.filter(({ source, target }) => parents.get(target) !== source);
  return drawn.map(({ source, target, port }, index) => {
    const label = port === 'error' ? 'error' : titles.get(port);
    const hasRun = byBlock.has(source) && byBlock.has(target);
    return {
      id: `${index}`,
      ...{ source, target },
      type: 'default',
      ...(label !== undefined && label !== '' && { label }),
      className: `edge${port === 'error' ? ' edge-error' : ''}${hasRun ? ' edge-ran' : ''}`,
    };
  });
}
