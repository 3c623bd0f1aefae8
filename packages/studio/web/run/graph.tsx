import { Background, Controls, Position, ReactFlow } from '@xyflow/react';
import type { Edge, Node, NodeHandle } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import '../styles/graph.css';
import { useMemo } from 'react';
import type { BlockState, Graph } from '../api/queries.ts';
import { BlockNode } from './block-node.tsx';
import type { BlockNodeData } from './block-node.tsx';
import { BLOCK_HEIGHT, placesOf } from './layout.ts';
import type { Box } from './layout.ts';
import type { Selection } from './selection.ts';

const NODE_TYPES = { block: BlockNode };

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
        minZoom={0.05}
        fitView
        fitViewOptions={{ padding: 0.15, maxZoom: 1 }}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={24} size={1} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
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
  return nodes.toSorted((a, b) => depthOf(graph, a.id) - depthOf(graph, b.id));
}

function depthOf(graph: Graph, id: string): number {
  const parents = new Map(graph.blocks.map((block) => [block.id, block.parentId]));
  let depth = 0;
  for (let at = parents.get(id); at != null && depth < graph.blocks.length; at = parents.get(at)) depth += 1;
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
