import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, dataOf, isForbidden } from '../api/client.ts';
import { ConfirmButton } from '../components/confirm-button.tsx';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { PlainTable } from '../components/plain-table.tsx';
import { Time } from '../components/format.tsx';
import { MAX_ENTRIES, apiKeysQuery } from './queries.ts';

const PATH = '/api/v2/workspaces/{workspaceId}/api-keys';

/** The API keys of the workspace, without their values. Only admins of the workspace see, create and revoke them. */
export function ApiKeys({ workspaceId }: { workspaceId: string }) {
  const { data, error, refetch } = useQuery(apiKeysQuery(workspaceId));
  return (
    <section className="settings-section" aria-label="API keys">
      <h2>API keys</h2>
      <p>Workspace keys belong to no user. Personal keys are created with heddle keys create.</p>
      {isForbidden(error) && <p>Only admins of the workspace see its keys.</p>}
      {error && !isForbidden(error) && <ErrorNotice error={error} retry={refetch} />}
      {!data && !error && <Loading label="keys" />}
      {data && <Keys workspaceId={workspaceId} keys={data} />}
    </section>
  );
}

function Keys({ workspaceId, keys }: { workspaceId: string; keys: readonly KeyRow[] }) {
  return (
    <>
      {keys.length === 0 ? <p>There are none.</p> : <KeyTable workspaceId={workspaceId} keys={keys} />}
      {keys.length === MAX_ENTRIES && <p>The first {MAX_ENTRIES} are shown.</p>}
      <CreateKeyForm workspaceId={workspaceId} />
    </>
  );
}

interface KeyRow {
  id: string;
  name: string;
  hint: string;
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
}

function KeyTable({ workspaceId, keys }: { workspaceId: string; keys: readonly KeyRow[] }) {
  const queryClient = useQueryClient();
  const revoke = (keyId: string) => async () => {
    const url = `${PATH}/{keyId}` as const;
    await dataOf(client.DELETE(url, { params: { path: { workspaceId, keyId } } }));
    await queryClient.invalidateQueries({ queryKey: apiKeysQuery(workspaceId).queryKey });
  };
  return (
    <PlainTable
      label="List of API keys"
      columns={['Name', 'Ends with', 'Created', 'Last used', 'Expires', 'Revoke']}
    >
      {keys.map(({ id, name, hint, createdAt, lastUsedAt, expiresAt }) => (
        <tr key={id}>
          <td>
            <bdi>{name}</bdi>
          </td>
          <td className="mono">{hint}</td>
          <td>
            <Time iso={createdAt} />
          </td>
          <td>{lastUsedAt === null ? 'never' : <Time iso={lastUsedAt} />}</td>
          <td>{expiresAt === null ? 'never' : <Time iso={expiresAt} />}</td>
          <td>
            <ConfirmButton label="Revoke" title={`Revoke the key ${name}?`} danger onConfirm={revoke(id)}>
              <p>Requests with the key are refused from now on.</p>
            </ConfirmButton>
          </td>
        </tr>
      ))}
    </PlainTable>
  );
}

function CreateKeyForm({ workspaceId }: { workspaceId: string }) {
  const queryClient = useQueryClient();
  const [name, setName] = useState('');
  const create = useMutation({
    mutationFn: async () => {
      const response = await dataOf(client.POST(PATH, { params: { path: { workspaceId } }, body: { name } }));
      return response.data.key;
    },
    onSuccess: async () => {
      setName('');
      await queryClient.invalidateQueries({ queryKey: apiKeysQuery(workspaceId).queryKey });
    },
    // Only this component has the key; it is dropped when the page is left.
    gcTime: 0,
  });
  return (
    <form
      className="create-key"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <label className="field">
        <span>Name of a new key</span>
        <input required maxLength={100} value={name} onChange={({ target }) => setName(target.value)} />
      </label>
      <button type="submit" className="button" disabled={create.isPending}>
        Create key
      </button>
      {create.error && (
        <p role="alert" className="error-text">
          {create.error.message}
        </p>
      )}
      {create.data !== undefined && (
        <p role="status" className="new-key">
          Copy the key now. It is not shown again: <code className="mono">{create.data}</code>
        </p>
      )}
    </form>
  );
}
