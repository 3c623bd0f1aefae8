import type { Overview } from '../api/queries.ts';
import { scopeParts } from './selection.ts';

interface ScopeBarProps {
  run: Overview;
  scope: string;
  onChange: (scope: string) => void;
}

/** The iterations that the graph shows, outermost first, as buttons that lead back to them. */
export function ScopeBar({ run, scope, onChange }: ScopeBarProps) {
  const parts = scopeParts(run.graph, scope);
  if (parts.length === 0) return null;
  return (
    <nav className="scope" aria-label="Shown iterations">
      <button type="button" className="button quiet" onClick={() => onChange('')}>
        All iterations
      </button>
      {parts.map(({ spanId, name, index }) => (
        <button
          type="button"
          className="button quiet"
          key={spanId}
          aria-current={spanId === scope ? 'true' : undefined}
          onClick={() => onChange(spanId)}
        >
          <bdi>{name}</bdi> #{index}
        </button>
      ))}
    </nav>
  );
}
