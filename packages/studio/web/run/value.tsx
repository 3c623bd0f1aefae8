import { useMutation, useQuery } from '@tanstack/react-query';
import { Suspense, lazy, useState } from 'react';
import { downloadValue } from '../api/actions.ts';
import { RequestError } from '../api/client.ts';
import { valueQuery } from '../api/queries.ts';
import type { ValueAddress, ValuePage } from '../api/queries.ts';
import { EmptyNotice, ErrorNotice, Loading } from '../components/notice.tsx';
import { formatBytes } from '../components/format.tsx';
import { ValueTree } from './value-tree.tsx';

/** The text viewer is large, so it is loaded on first use. */
const JsonText = lazy(async () => ({ default: (await import('./json-text.tsx')).JsonText }));

interface ValueProps {
  runId: string;
  address: ValueAddress;
}

/** A value as a tree, or the first 64 KB of it as JSON text. */
export function Value({ runId, address }: ValueProps) {
  const page = useQuery(valueQuery(runId, address));
  const [showsText, setShowsText] = useState(false);
  const download = useMutation({ mutationFn: () => downloadValue(runId, address) });
  if (page.isPending) return <Loading label="the value" />;
  if (page.error instanceof RequestError && page.error.status === 404)
    return <EmptyNotice title={`There is no ${address.part}`} />;
  if (page.error) return <ErrorNotice error={page.error} retry={page.refetch} />;
  return (
    <div className="value">
      <div className="value-bar">
        <div role="group" aria-label="Format">
          <button
            type="button"
            className="button quiet"
            aria-pressed={!showsText}
            onClick={() => setShowsText(false)}
          >
            Tree
          </button>
          <button
            type="button"
            className="button quiet"
            aria-pressed={showsText}
            onClick={() => setShowsText(true)}
          >
            JSON
          </button>
        </div>
        <span>{formatBytes(page.data.bytes)}</span>
        <button
          type="button"
          className="button quiet"
          disabled={download.isPending}
          onClick={() => download.mutate()}
        >
          Download
        </button>
      </div>
      {download.error && (
        <p role="alert" className="error-text">
          {download.error.message}
        </p>
      )}
      {showsText ? <Text page={page.data} /> : <ValueTree {...{ runId, address }} page={page.data} />}
    </div>
  );
}

function Text({ page }: { page: ValuePage }) {
  return (
    <>
      {page.nextOffset !== null && (
        <p className="value-note">The beginning is shown. Download the value to read all of it.</p>
      )}
      <Suspense fallback={<Loading label="the viewer" />}>
        <JsonText text={page.text} />
      </Suspense>
    </>
  );
}
