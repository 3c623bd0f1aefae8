import { useQuery } from '@tanstack/react-query';
import { client, dataOf } from '../api/client.ts';
import { valueQuery } from '../api/queries.ts';
import type { Overview, Span } from '../api/queries.ts';
import { AuditLog } from '../components/audit.tsx';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { Status } from '../components/status.tsx';
import { Time, formatBytes, formatDuration } from '../components/format.tsx';
import { MODEL_BLOCK_TYPES, ModelUsage } from './model-usage.tsx';
import { Fact } from './run-header.tsx';
import { RunFromBlockButton } from './rerun.tsx';
import { RunLink } from './run-link.tsx';
import type { Selection } from './selection.ts';
import { scopeOf } from './selection.ts';

/** Times, attempts and the error of a span; its child runs; and a rerun from its block. */
export function SpanFacts({ run, selection }: { run: Overview; selection: Selection }) {
  const { spanId, block } = selection;
  const span = useQuery({
    queryKey: ['run', run.runId, 'span', spanId],
    queryFn: () => fetchSpan(run, spanId),
    enabled: spanId !== '',
  });
  if (span.error) return <ErrorNotice error={span.error} retry={span.refetch} />;
  if (spanId !== '' && span.isPending) return <Loading label="details" />;
  const childRuns = run.children.filter(({ blockId }) => blockId === block?.id);
  return (
    <div className="span-facts">
      {span.data && <Facts span={span.data} />}
      {span.data && block && <BlockDetails runId={run.runId} span={span.data} type={block.type} />}
      {spanId === '' && <p>Select a block to see its times, its attempts and its error.</p>}
      {spanId === '' && <AuditLog workspaceId={run.workspaceId} resourceId={run.runId} />}
      {childRuns.length > 0 && (
        <section>
          <h3>Called runs</h3>
          <ul>
            {childRuns.map(({ runId, status }) => (
              <li key={runId}>
                <RunLink runId={runId} /> <Status status={status} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {block && spanId !== '' && <RunFromBlockButton key={spanId} {...{ run, block, spanId }} />}
    </div>
  );
}

/** The code around the line of an error, and the model usage of the block. */
function BlockDetails({ runId, span, type }: { runId: string; span: Span; type: string }) {
  const line = span.error?.line ?? null;
  return (
    <>
      {line !== null && <CodeAtLine runId={runId} spanId={span.id} line={line} />}
      {MODEL_BLOCK_TYPES.has(type) && <ModelUsage runId={runId} spanId={span.id} />}
    </>
  );
}

/**
 * Returns a span; null if it does not exist. Requests only the spans of the same block in the same scope. For the span
 * of an iteration, requests only the spans with the same number.
 */
async function fetchSpan(run: Overview, spanId: string): Promise<Span | null> {
  const scope = scopeOf(run.graph, spanId);
  const isIteration = scope === spanId;
  const under = isIteration ? spanId.slice(0, spanId.lastIndexOf('/')) : scope;
  const lastSegment = spanId.slice(spanId.lastIndexOf('/') + 1);
  const query = {
    direct: true,
    limit: 1000,
    ...(under !== '' && { under }),
    ...(isIteration ? { index: Number(lastSegment) } : { blockId: lastSegment }),
  };
  const params = { path: { runId: run.runId }, query };
  const { data } = await dataOf(client.GET('/api/v2/logs/{runId}/spans', { params }));
  return data.find(({ id }) => id === spanId) ?? null;
}

function Facts({ span }: { span: Span }) {
  return (
    <>
      <dl className="facts">
        <Fact name="Status">
          <Status status={span.status} />
        </Fact>
        <Fact name="Started">
          <Time iso={span.startTime} />
        </Fact>
        {span.durationMs !== null && <Fact name="Duration">{formatDuration(span.durationMs)}</Fact>}
        {span.attempts !== null && <Fact name="Attempts">{span.attempts}</Fact>}
        {span.inputBytes !== null && <Fact name="Input">{formatBytes(span.inputBytes)}</Fact>}
        {span.outputBytes !== null && <Fact name="Output">{formatBytes(span.outputBytes)}</Fact>}
      </dl>
      {span.error && (
        <div className="span-error">
          <p>
            <strong>{span.error.type}</strong>
            {span.errorHandled && ' (handled by the error port)'}
          </p>
          <pre>
            <bdi>{span.error.message}</bdi>
          </pre>
        </div>
      )}
    </>
  );
}

/** Number of lines that are shown before and after the marked line. */
const CONTEXT_LINES = 4;

interface CodeAtLineProps {
  runId: string;
  spanId: string;
  /** Starts at 1. */
  line: number;
}

/** The code of a block around the line that threw, as its author wrote it. Renders nothing for blocks without code. */
function CodeAtLine({ runId, spanId, line }: CodeAtLineProps) {
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
