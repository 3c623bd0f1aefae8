import { useQuery } from '@tanstack/react-query';
import { diffLines } from 'diff';
import { useState } from 'react';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { comparisonQuery, versionQuery } from './queries.ts';

interface VersionComparisonProps {
  workflowId: string;
  /** Newest first. */
  versions: readonly number[];
}

/** The changed blocks, connections and variables between two versions. Changed text is compared line by line. */
export function VersionComparison({ workflowId, versions }: VersionComparisonProps) {
  const [base, setBase] = useState(versions[1] ?? 0);
  const [target, setTarget] = useState(versions[0] ?? 0);
  const comparison = useQuery(comparisonQuery(workflowId, String(base), String(target)));
  const renderVersionField = (label: string, value: number, onChange: (version: number) => void) => (
    <label className="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(Number(event.target.value))}>
        {versions.map((version) => (
          <option key={version} value={version}>
            Version {version}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <section className="compare" aria-label="Difference between two versions">
      <div className="filters">
        {renderVersionField('From', base, setBase)}
        {renderVersionField('To', target, setTarget)}
      </div>
      {comparison.error && <ErrorNotice error={comparison.error} retry={comparison.refetch} />}
      {comparison.isPending && <Loading label="the difference" />}
      {comparison.data?.identical && <p>Both versions are identical.</p>}
      {comparison.data && !comparison.data.identical && (
        <Changes {...{ workflowId, base, target }} changes={comparison.data} />
      )}
    </section>
  );
}

interface VersionChanges {
  blocks: {
    added: readonly BlockRef[];
    removed: readonly BlockRef[];
    changed: readonly (BlockRef & { subBlocks: readonly string[]; fields: readonly string[] })[];
  };
  edges: { added: readonly object[]; removed: readonly object[] };
  variables: { added: readonly string[]; removed: readonly string[]; changed: readonly string[] };
}
interface BlockRef {
  id: string;
  name: string;
  type: string;
}
interface ChangesProps {
  workflowId: string;
  base: number;
  target: number;
  changes: VersionChanges;
}

function Changes({ workflowId, base, target, changes: { blocks, edges, variables } }: ChangesProps) {
  const baseVersion = useQuery(versionQuery(workflowId, base));
  const targetVersion = useQuery(versionQuery(workflowId, target));
  const changedVariables = [...variables.added, ...variables.removed, ...variables.changed];
  return (
    <>
      <ul className="changes">
        {blocks.added.map((block) => (
          <Change key={block.id} sign="+" description="added" block={block} />
        ))}
        {blocks.removed.map((block) => (
          <Change key={block.id} sign="−" description="removed" block={block} />
        ))}
        {blocks.changed.map((block) => (
          <Change
            key={block.id}
            sign="±"
            description={`changed: ${[...block.fields, ...block.subBlocks].join(', ')}`}
            block={block}
          >
            {block.subBlocks.map((field) => (
              <TextDifference
                key={field}
                name={`${block.name}, ${field}`}
                oldText={readFieldText(baseVersion.data?.state.blocks[block.id], field)}
                newText={readFieldText(targetVersion.data?.state.blocks[block.id], field)}
              />
            ))}
          </Change>
        ))}
      </ul>
      <p>
        Connections: {edges.added.length} added, {edges.removed.length} removed.
        {changedVariables.length > 0 && ` Variables: ${changedVariables.length} changed.`}
      </p>
    </>
  );
}

interface ChangeProps {
  sign: string;
  description: string;
  block: BlockRef;
  children?: React.ReactNode;
}

function Change({ sign, description, block, children }: ChangeProps) {
  return (
    <li>
      <span aria-hidden="true">{sign}</span> <bdi className="change-name">{block.name}</bdi>{' '}
      <span className="value-note">{description}</span>
      {children}
    </li>
  );
}

/** Returns the text of a field of a block in the format of drafts; undefined for a field that is not text. */
function readFieldText(block: unknown, field: string): string | undefined {
  const fields = (block as { subBlocks?: { [name: string]: { value?: unknown } | undefined } } | undefined)
    ?.subBlocks;
  const value = fields?.[field]?.value;
  return typeof value === 'string' ? value : undefined;
}

/** Maximum total length of two texts that are compared line by line. */
const MAX_COMPARED_LENGTH = 100_000;

function TextDifference({
  name,
  oldText,
  newText,
}: {
  name: string;
  oldText: string | undefined;
  newText: string | undefined;
}) {
  if (oldText === undefined || newText === undefined || oldText === newText) return null;
  const parts =
    oldText.length + newText.length > MAX_COMPARED_LENGTH
      ? undefined
      : diffLines(oldText, newText, { timeout: 1000 });
  if (!parts) return <p className="value-note">The text is too large to compare.</p>;
  return (
    <pre className="difference" aria-label={name} tabIndex={0} role="region">
      {parts.map(({ added, removed, value }, index) => (
        <span key={index} data-change={added ? 'added' : removed ? 'removed' : undefined}>
          {prefixLines(value, added ? '+ ' : removed ? '− ' : '  ')}
        </span>
      ))}
    </pre>
  );
}

function prefixLines(text: string, sign: string): string {
  const textWithoutLastBreak = text.endsWith('\n') ? text.slice(0, -1) : text;
  return `${sign}${textWithoutLastBreak.replaceAll('\n', `\n${sign}`)}\n`;
}
