import { useQuery } from '@tanstack/react-query';
import { RequestError } from '../api/client.ts';
import { valueQuery } from '../api/queries.ts';
import { Empty, Failed, Loading } from '../parts/notice.tsx';
import { Value } from './value.tsx';

/** The text that the code of a block has printed: `stdout` of its output. */
export function Console({ runId, spanId }: { runId: string; spanId: string }) {
  const address = { spanId, part: 'output', path: '/stdout' } as const;
  const stdout = useQuery(valueQuery(runId, address));
  if (stdout.isPending) return <Loading what="the console" />;
  if (stdout.error instanceof RequestError && stdout.error.status === 404)
    return <Empty title="Nothing was printed" />;
  if (stdout.error) return <Failed error={stdout.error} retry={stdout.refetch} />;
  const { data } = stdout;
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
