import type { BlockState, Graph } from '../api/queries.ts';
import { STATUS_NAMES, statusOf } from './block-status.ts';
import type { Selection } from './selection.ts';

interface OutlineProps {
  graph: Graph;
  states: readonly BlockState[];
  selection: Pick<Selection, 'block'>;
  selectBlock: (blockId: string) => void;
}

/** The blocks as a list, for keyboards, screen readers and narrow screens. */
export function Outline({ graph, states, selection, selectBlock }: OutlineProps) {
  const byBlock = new Map(states.map((state) => [state.blockId, state]));
  const inside = Map.groupBy(graph.blocks, ({ parentId }) => parentId ?? '');
  const listOf = (parentId: string, depth: number): React.ReactNode => {
    const blocks = inside.get(parentId);
    // A corrupt draft may have containers that contain each other.
    if (!blocks || depth > 32) return null;
    return (
      <ul>
        {blocks.map(({ id, name }) => {
          const status = statusOf(byBlock.get(id));
          return (
            <li key={id}>
              <button
                type="button"
                aria-label={`${name}, ${STATUS_NAMES[status]}`}
                aria-current={selection.block?.id === id ? 'true' : undefined}
                onClick={() => selectBlock(id)}
              >
                <span className="status-mark" data-status={status} aria-hidden="true" />
                <bdi className="clip">{name}</bdi>
              </button>
              {listOf(id, depth + 1)}
            </li>
          );
        })}
      </ul>
    );
  };
  return (
    <nav className="outline" aria-label="Blocks">
      {listOf('', 0)}
    </nav>
  );
}
