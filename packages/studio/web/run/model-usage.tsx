import { useQuery } from '@tanstack/react-query';
import { RequestError } from '../api/client.ts';
import { valueQuery } from '../api/queries.ts';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { formatCost } from '../components/format.tsx';
import { Fact } from './run-header.tsx';
import { ValueTree } from './value-tree.tsx';

/** Block types that call a model. */
export const MODEL_BLOCK_TYPES: ReadonlySet<string> = new Set([
  'agent',
  'evaluator',
  'image_generator',
  'router',
  'router_v2',
  'translate',
  'vision',
]);

interface ModelUsageProps {
  runId: string;
  spanId: string;
}

/** The model that a block called, with its tokens, cost and tool calls, from the output of the block. */
export function ModelUsage({ runId, spanId }: ModelUsageProps) {
  const model = useOutputValue({ runId, spanId }, '/model');
  const tokens = useOutputValue({ runId, spanId }, '/tokens');
  const cost = useOutputValue({ runId, spanId }, '/cost');
  if (model.isPending || tokens.isPending || cost.isPending) return <Loading label="the model usage" />;
  const totalCost = getNumber(cost.value, 'total');
  return (
    <section aria-label="Model">
      <h3>Model</h3>
      <dl className="facts">
        {typeof model.value === 'string' && (
          <Fact name="Model">
            <bdi>{model.value}</bdi>
          </Fact>
        )}
        {(['input', 'output', 'total'] as const).map((name) => {
          const count = getNumber(tokens.value, name);
          return (
            count !== undefined && (
              <Fact key={name} name={`Tokens, ${name}`}>
                {count}
              </Fact>
            )
          );
        })}
        {totalCost !== undefined && <Fact name="Cost">{formatCost(totalCost)}</Fact>}
      </dl>
      <ToolCalls {...{ runId, spanId }} />
    </section>
  );
}

function ToolCalls({ runId, spanId }: ModelUsageProps) {
  const address = { spanId, part: 'output', path: '/toolCalls/list' } as const;
  const calls = useQuery(valueQuery(runId, address));
  if (calls.error instanceof RequestError && calls.error.status === 404) return null;
  if (calls.error) return <ErrorNotice error={calls.error} retry={calls.refetch} />;
  if (!calls.data || calls.data.size === 0 || calls.data.size === null) return null;
  return (
    <>
      <h3>Tool calls ({calls.data.size})</h3>
      <ValueTree {...{ runId, address }} page={calls.data} />
    </>
  );
}

/** Returns the value at a path of the output; undefined if there is none, or if it exceeds one response. */
function useOutputValue(
  { runId, spanId }: ModelUsageProps,
  path: string,
): { isPending: boolean; value: unknown } {
  const { data, isPending } = useQuery(valueQuery(runId, { spanId, part: 'output', path }));
  return {
    isPending,
    value: data && data.nextOffset === null ? (JSON.parse(data.text) as unknown) : undefined,
  };
}

function getNumber(value: unknown, name: string): number | undefined {
  const number =
    typeof value === 'object' && value !== null ? (value as { [key: string]: unknown })[name] : undefined;
  return typeof number === 'number' ? number : undefined;
}
