import { Background, Controls, Position, ReactFlow, useReactFlow } from '@xyflow/react';
import type { Edge, Node, NodeHandle } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import '../styles/graph.css';
import { useEffect, useMemo } from 'react';
import type { BlockState, Graph } from '../api/queries.ts';
import { BlockNode, READABLE_ZOOM } from './block-node.tsx';
import type { BlockNodeData } from './block-node.tsx';
import { BLOCK_HEIGHT, BLOCK_WIDTH, placesOf } from './layout.ts';
import type { Box } from './layout.ts';
import type { Selection } from './selection.ts';

const NODE_TYPES = { block: BlockNode };
const FIT = { padding: 0.15, maxZoom: 1 };
/** Graphs with more blocks are never shown as a whole: thousands of elements would be in view. */
const MOST_AT_ONCE = 300;

interface RunGraphProps {
  graph: Graph;
  states: readonly BlockState[];
  selection: Pick<Selection, 'block'>;
  selectBlock: (blockId: string) => void;
}

/** The blocks with their states. Only blocks in view are mounted. The outline has the same blocks for keyboards and readers. */
export function RunGraph({ graph, states, selection, selectBlock }: RunGraphProps) {
  const places = useMemo(() => placesOf(graph), [graph]);
  const byBlock = useMemo(() => new Map(states.map((state) => [state.blockId, state])), [states]);
  const selectedId = selection.block?.id;
  const isLarge = graph.blocks.length > MOST_AT_ONCE;
  const nodes = useMemo(
    () => nodesOf(graph, { places, byBlock, selectedId }),
    [graph, places, byBlock, selectedId],
  );
  const edges = useMemo(() => edgesOf(graph, byBlock), [graph, byBlock]);
  return (
    <div className="graph" role="region" aria-label="Graph">
      <ReactFlow
        {...{ nodes, edges }}
        nodeTypes={NODE_TYPES}
        onNodeClick={(_event, { id }) => selectBlock(id)}
        onlyRenderVisibleElements
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        minZoom={isLarge ? READABLE_ZOOM : 0.05}
        {...(isLarge
          ? { defaultViewport: { x: 24, y: 24, zoom: 0.8 } }
          : { fitView: true, fitViewOptions: FIT })}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={24} size={1} />
        <Controls showInteractive={false} fitViewOptions={FIT} />
        {isLarge && <Follow blockId={selectedId} />}
      </ReactFlow>
    </div>
  );
}

/** Moves a large graph so that the selected block is in its middle. */
function Follow({ blockId }: { blockId: string | undefined }) {
  const { getInternalNode, getZoom, setCenter } = useReactFlow();
  useEffect(() => {
    const node = blockId === undefined ? undefined : getInternalNode(blockId);
    if (!node) return;
    const { x, y } = node.internals.positionAbsolute;
    void setCenter(x + BLOCK_WIDTH / 2, y + BLOCK_HEIGHT / 2, { zoom: getZoom() });
  }, [blockId, getInternalNode, getZoom, setCenter]);
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
