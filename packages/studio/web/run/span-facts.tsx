import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { rerun } from '../api/actions.ts';
import { client, dataOf } from '../api/client.ts';
import { isOpen } from '../api/queries.ts';
import type { Overview, Span } from '../api/queries.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Failed, Loading } from '../parts/notice.tsx';
import { Status } from '../parts/status.tsx';
import { Time, bytesText, durationText } from '../parts/time.tsx';
import { CodeAtLine } from './code-at-line.tsx';
import { MODEL_BLOCKS, ModelUse } from './model-use.tsx';
import { Fact } from './run-header.tsx';
import { RunLink } from './run-link.tsx';
import type { Selection } from './selection.ts';
import { scopeOf } from './selection.ts';

/** Times, attempts and the error of a span; its child runs; and a rerun from its block. */
export function SpanFacts({ run, selection }: { run: Overview; selection: Selection }) {
  const { spanId, block } = selection;
  const span = useQuery({
    queryKey: ['run', run.runId, 'span', spanId],
    queryFn: () => spanOf(run, spanId),
    enabled: spanId !== '',
  });
  if (span.error) return <Failed error={span.error} retry={span.refetch} />;
  if (spanId !== '' && span.isPending) return <Loading what="details" />;
  const children = run.children.filter(({ blockId }) => blockId === block?.id);
  return (
    <div className="span-facts">
      {span.data && <Facts span={span.data} />}
      {span.data && block && <OfBlock runId={run.runId} span={span.data} type={block.type} />}
      {spanId === '' && <p>Select a block to see its times, its attempts and its error.</p>}
      {children.length > 0 && (
        <section>
          <h3>Called runs</h3>
          <ul>
            {children.map(({ runId, status }) => (
              <li key={runId}>
                <RunLink runId={runId} /> <Status status={status} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {block?.parentId === null && spanId !== '' && <RerunFrom run={run} blockId={block.id} />}
    </div>
  );
}

/** The code of an error, and what a block used of models. */
function OfBlock({ runId, span, type }: { runId: string; span: Span; type: string }) {
  const line = span.error?.line ?? null;
  return (
    <>
      {line !== null && <CodeAtLine runId={runId} spanId={span.id} line={line} />}
      {MODEL_BLOCKS.has(type) && <ModelUse runId={runId} spanId={span.id} />}
    </>
  );
}

/** Returns a span: the list of the spans around it has no other of its block and number. */
async function spanOf(run: Overview, spanId: string): Promise<Span | null> {
  const own = scopeOf(run.graph, spanId);
  const isIteration = own === spanId;
  const under = isIteration ? spanId.slice(0, spanId.lastIndexOf('/')) : own;
  const number = Number(spanId.slice(spanId.lastIndexOf('/') + 1));
  const query = {
    direct: true,
    limit: 1000,
    ...(under !== '' && { under }),
    ...(isIteration && { index: number }),
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
        {span.durationMs !== null && <Fact name="Duration">{durationText(span.durationMs)}</Fact>}
        {span.attempts !== null && <Fact name="Attempts">{span.attempts}</Fact>}
        {span.inputBytes !== null && <Fact name="Input">{bytesText(span.inputBytes)}</Fact>}
        {span.outputBytes !== null && <Fact name="Output">{bytesText(span.outputBytes)}</Fact>}
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

function RerunFrom({ run, blockId }: { run: Overview; blockId: string }) {
  const navigate = useNavigate();
  const { id: workflowId } = run.workflow;
  if (!run.mayResume || workflowId === null || isOpen(run.status)) return null;
  const start = (version: 'run' | 'live') => async () => {
    const runId = await rerun({ runId: run.runId, workflowId }, { blockId, version });
    await navigate({ to: '/runs/$runId', params: { runId }, search: {} });
  };
  return (
    <div className="button-row">
      <Confirm label="Run from here" title="Start a run at this block?" onConfirm={start('run')}>
        <p>
          It takes over the outputs of the blocks before it, in the definition that this run has executed.
        </p>
      </Confirm>
      <Confirm
        label="Run from here, live version"
        title="Start a run at this block?"
        onConfirm={start('live')}
      >
        <p>It takes over the outputs of the blocks before it, in the live version of the workflow.</p>
      </Confirm>
    </div>
  );
}
