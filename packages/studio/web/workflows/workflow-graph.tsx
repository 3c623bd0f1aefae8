import type { JsonObject } from '@heddle/core';
import { toDiagram } from '@heddle/core/diagram';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { BlockGraph } from '../graph/graph.tsx';
import { Outline } from '../graph/outline.tsx';
import { EmptyNotice, ErrorNotice, Loading } from '../components/notice.tsx';
import type { WorkflowSearch } from '../shell/search.ts';
import { draftQuery, versionQuery } from './queries.ts';
import { fieldsOf } from './block-fields.ts';
import type { WorkflowState } from './block-fields.ts';

interface GraphProps {
  workflowId: string;
  /** Undefined: the draft. */
  version: number | undefined;
  blockId: string | undefined;
  updateSearch: (change: WorkflowSearch) => void;
}

/** The graph of the draft or of a version, with the fields of the selected block. */
export function WorkflowGraph({ workflowId, version, blockId, updateSearch }: GraphProps) {
  const draft = useQuery({ ...draftQuery(workflowId), enabled: version === undefined });
  const deployedVersion = useQuery({
    ...versionQuery(workflowId, version ?? 0),
    enabled: version !== undefined,
  });
  const { error, refetch } = version === undefined ? draft : deployedVersion;
  const state = version === undefined ? draft.data : deployedVersion.data?.state;
  if (error) return <ErrorNotice error={error} retry={refetch} />;
  if (!state) return <Loading label="the graph" />;
  return <LoadedGraph {...{ state, blockId, updateSearch }} />;
}

interface LoadedGraphProps extends Pick<GraphProps, 'blockId' | 'updateSearch'> {
  state: WorkflowState;
}

function LoadedGraph({ state, blockId, updateSearch }: LoadedGraphProps) {
  // The state comes from a response, so it is JSON.
  const graph = useMemo(() => toDiagram(state as unknown as JsonObject), [state]);
  const selectedBlock = graph.blocks.find(({ id }) => id === blockId);
  const selectBlock = (id: string) => updateSearch({ block: id });
  const graphProps = { graph, selectedId: selectedBlock?.id, selectBlock };
  if (graph.blocks.length === 0) return <EmptyNotice title="There are no blocks" />;
  return (
    <div className="run-body workflow-graph">
      <Outline {...graphProps} />
      <BlockGraph {...graphProps} />
      <aside className="details" aria-label="Fields">
        {selectedBlock ? (
          <>
            <div className="details-title">
              <h3 dir="auto">{selectedBlock.name}</h3>
              <span className="value-note">
                {selectedBlock.type.replaceAll('_', ' ')}
                {!selectedBlock.enabled && ', not enabled'}
              </span>
            </div>
            <Fields key={selectedBlock.id} fields={fieldsOf(state, selectedBlock.id)} />
          </>
        ) : (
          <p className="value-note">Select a block to see its fields.</p>
        )}
      </aside>
    </div>
  );
}

/** Maximum length of the shown text of a field. */
const MAX_FIELD_LENGTH = 65_536;

function Fields({ fields }: { fields: ReturnType<typeof fieldsOf> }) {
  if (fields.length === 0) return <p className="value-note">No field has a value.</p>;
  return (
    <dl className="block-fields">
      {fields.map(({ name, text }, index) => (
        // A field and a setting may have the same name.
        <div key={`${index} ${name}`}>
          <dt>
            <bdi>{name}</bdi>
          </dt>
          <dd>
            <pre className="scalar" dir="auto" tabIndex={0} role="region" aria-label={name}>
              {text.slice(0, MAX_FIELD_LENGTH)}
            </pre>
            {text.length > MAX_FIELD_LENGTH && (
              <p className="value-note">
                The first {MAX_FIELD_LENGTH} characters of {text.length} are shown.
              </p>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
