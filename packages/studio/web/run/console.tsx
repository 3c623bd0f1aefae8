import { useQuery } from '@tanstack/react-query';
import { RequestError } from '../api/client.ts';
import { valueQuery } from '../api/queries.ts';
import { Empty, Failed, Loading } from '../parts/notice.tsx';
import { Value } from './value.tsx';

/** The text that the code of a block has printed: `stdout` of its output. */
export function Console({ runId, spanId }: { runId: string; spanId: string }) {
  const address = { spanId, part: 'output', path: '/stdout' } as const;
  const printed = useQuery(valueQuery(runId, address));
  if (printed.isPending) return <Loading what="the console" />;
  if (printed.error instanceof RequestError && printed.error.status === 404)
    return <Empty title="Nothing was printed" />;
  if (printed.error) return <Failed error={printed.error} retry={printed.refetch} />;
  const { data } = printed;
  if (data.kind !== 'string' || data.nextOffset !== null) return <Value runId={runId} address={address} />;
  const text = JSON.parse(data.text) as string;
  return text === '' ? (
    <Empty title="Nothing was printed" />
  ) : (
    <pre className="console" dir="auto">
      {text}
    </pre>
  );
}
