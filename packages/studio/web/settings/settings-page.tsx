import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { PlainTable } from '../components/plain-table.tsx';
import { Time } from '../components/format.tsx';
import { useWorkspaceId } from '../shell/workspace.ts';
import { ApiKeys } from './api-keys.tsx';
import { MAX_ENTRIES, credentialsQuery, sandboxesQuery, secretsQuery } from './queries.ts';

/** The secrets, credentials and API keys of the workspace, by name only, and its sandboxes with their builds. */
export function SettingsPage() {
  const workspaceId = useWorkspaceId();
  const secrets = useQuery(secretsQuery(workspaceId));
  const credentials = useQuery(credentialsQuery(workspaceId));
  const sandboxes = useQuery(sandboxesQuery(workspaceId));
  return (
    <div className="page">
      <h1>Settings</h1>
      <Section
        title="Secrets"
        list={secrets}
        columns={['Name', 'Owner', 'Changed']}
        renderCells={({ name, scope, updatedAt }) => [
          <bdi key="name">{name}</bdi>,
          scope === 'personal' ? 'you' : 'the workspace',
          <Time key="time" iso={updatedAt} />,
        ]}
      />
      <Section
        title="Credentials"
        list={credentials}
        columns={['Name', 'Provider', 'Changed']}
        renderCells={({ displayName, providerId, updatedAt }) => [
          <bdi key="name">{displayName}</bdi>,
          providerId ?? '–',
          <Time key="time" iso={updatedAt} />,
        ]}
      />
      <ApiKeys key={workspaceId} workspaceId={workspaceId} />
      <Section
        title="Sandboxes"
        list={sandboxes}
        columns={['Name', 'Language', 'Packages', 'Build', 'Built']}
        renderCells={({ name, language, dependencies, systemPackages, cliTools, ...build }) => [
          <bdi key="name">{name}</bdi>,
          language,
          <bdi key="packages">{[...dependencies, ...systemPackages, ...cliTools].join(', ')}</bdi>,
          build.errorMessage === null ? (
            (build.buildStatus ?? '–')
          ) : (
            <bdi key="error" className="error-text">
              {build.errorMessage}
            </bdi>
          ),
          build.builtAt === null ? '–' : <Time key="time" iso={build.builtAt} />,
        ]}
      />
    </div>
  );
}

interface ListState<Row> {
  data: readonly Row[] | undefined;
  error: Error | null;
  refetch: () => unknown;
}

interface SectionProps<Row> {
  title: string;
  list: ListState<Row>;
  columns: readonly string[];
  renderCells: (row: Row) => readonly ReactNode[];
}

function Section<Row>({ title, list: { data, error, refetch }, columns, renderCells }: SectionProps<Row>) {
  return (
    <section className="settings-section" aria-label={title}>
      <h2>{title}</h2>
      {error && <ErrorNotice error={error} retry={refetch} />}
      {!data && !error && <Loading label={title.toLowerCase()} />}
      {data?.length === 0 && <p>There are none.</p>}
      {data && data.length > 0 && (
        <PlainTable label={`List of ${title.toLowerCase()}`} columns={columns}>
          {data.map((row, index) => (
            <tr key={index}>
              {renderCells(row).map((cell, columnIndex) => (
                <td key={columns[columnIndex]}>{cell}</td>
              ))}
            </tr>
          ))}
        </PlainTable>
      )}
      {data?.length === MAX_ENTRIES && <p>The first {MAX_ENTRIES} are shown.</p>}
    </section>
  );
}
