import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { valueQuery } from '../api/queries.ts';
import type { ValueAddress, ValuePage } from '../api/queries.ts';
import { ErrorNotice, Loading } from '../components/notice.tsx';

/** Number of entries in a response of the HTTP API. */
const ENTRIES_PER_PAGE = 100;

interface TreeProps {
  runId: string;
  address: ValueAddress;
  page: ValuePage;
}

/** The entries of a value. The content of an entry is loaded when it is opened. */
export function ValueTree({ runId, address, page }: TreeProps) {
  const [firstIndexes, setFirstIndexes] = useState([0]);
  if (page.size === null) return <Scalar page={page} />;
  if (page.size === 0)
    return <p className="value-note">{page.kind === 'array' ? 'An empty array' : 'An empty object'}</p>;
  const nextIndex = (firstIndexes.at(-1) ?? 0) + ENTRIES_PER_PAGE;
  return (
    <ul className="tree">
      {firstIndexes.map((firstIndex) => (
        <Entries
          key={firstIndex}
          {...{ runId, address, firstIndex }}
          firstPage={firstIndex === 0 ? page : undefined}
        />
      ))}
      {nextIndex < page.size && (
        <li>
          <button
            type="button"
            className="button"
            onClick={() => setFirstIndexes([...firstIndexes, nextIndex])}
          >
            Show entries {nextIndex} to {Math.min(nextIndex + ENTRIES_PER_PAGE, page.size) - 1} of {page.size}
          </button>
        </li>
      )}
    </ul>
  );
}

interface EntriesProps {
  runId: string;
  address: ValueAddress;
  /** Index of the first entry. */
  firstIndex: number;
  firstPage: ValuePage | undefined;
}

function Entries({ runId, address, firstIndex, firstPage }: EntriesProps) {
  const page = useQuery({
    ...valueQuery(runId, address, { entry: firstIndex }),
    enabled: firstPage === undefined,
  });
  if (page.error)
    return (
      <li>
        <ErrorNotice error={page.error} retry={page.refetch} />
      </li>
    );
  const entries = (firstPage ?? page.data)?.entries;
  if (!entries)
    return (
      <li>
        <Loading label="entries" />
      </li>
    );
  return entries.map(({ key, kind, preview }) => {
    const childAddress = {
      ...address,
      path: `${address.path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    };
    const isExpandable =
      kind === 'object' || kind === 'array' || preview.endsWith('…') || preview.length > 120;
    return (
      <li key={key}>
        {isExpandable ? (
          <ExpandableEntry {...{ runId, name: key, kind, preview }} address={childAddress} />
        ) : (
          <span className="tree-line">
            <bdi className="tree-key">{key}</bdi>{' '}
            <bdi className="tree-value" data-kind={kind}>
              {preview}
            </bdi>
          </span>
        )}
      </li>
    );
  });
}

interface ExpandableEntryProps {
  runId: string;
  name: string;
  kind: string;
  preview: string;
  address: ValueAddress;
}

function ExpandableEntry({ runId, name, kind, preview, address }: ExpandableEntryProps) {
  const [isOpen, setOpen] = useState(false);
  const page = useQuery({ ...valueQuery(runId, address), enabled: isOpen });
  return (
    <>
      <button type="button" className="tree-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <bdi className="tree-key">{name}</bdi>{' '}
        <bdi className="tree-value" data-kind={kind}>
          {preview}
        </bdi>
      </button>
      {isOpen && page.error && <ErrorNotice error={page.error} retry={page.refetch} />}
      {isOpen && page.isPending && <Loading label="the value" />}
      {isOpen && page.data && <ValueTree {...{ runId, address }} page={page.data} />}
    </>
  );
}

/** A string with its line breaks, or another scalar. */
function Scalar({ page }: { page: ValuePage }) {
  const isWholeString = page.kind === 'string' && page.nextOffset === null;
  const text = isWholeString ? (JSON.parse(page.text) as string) : page.text;
  return (
    <>
      {page.nextOffset !== null && (
        <p className="value-note">The beginning is shown. Download the value to read all of it.</p>
      )}
      <pre className="scalar" dir="auto">
        {text}
      </pre>
    </>
  );
}
