import { useQuery } from '@tanstack/react-query';
import { valueQuery } from '../api/queries.ts';

/** Number of lines that are shown before and after the marked one. */
const CONTEXT_LINES = 4;

interface CodeProps {
  runId: string;
  spanId: string;
  /** From 1. */
  line: number;
}

/** The code of a block around the line that threw, as its author wrote it. Renders nothing for blocks without code. */
export function CodeAtLine({ runId, spanId, line }: CodeProps) {
  const { data } = useQuery(valueQuery(runId, { spanId, part: 'input', path: '/code' }));
  if (data?.kind !== 'string' || data.nextOffset !== null) return null;
  const lines = (JSON.parse(data.text) as string).split('\n');
  if (line > lines.length) return null;
  const firstLine = Math.max(1, line - CONTEXT_LINES);
  return (
    <ol className="code-at-line mono" aria-label="Code" tabIndex={0}>
      {lines.slice(firstLine - 1, line + CONTEXT_LINES).map((text, index) => {
        const lineNumber = firstLine + index;
        return (
          <li key={lineNumber} className="code-line" aria-current={lineNumber === line ? 'true' : undefined}>
            <span>{lineNumber}</span>
            <bdi>{text}</bdi>
          </li>
        );
      })}
    </ol>
  );
}
