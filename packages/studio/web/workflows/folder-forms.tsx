import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, dataOf } from '../api/client.ts';
import { ConfirmButton } from '../components/confirm-button.tsx';
import { ROOT, parentOf, subfolderPath, formatPath } from './folder-rows.ts';
import type { Folder } from './folder-rows.ts';

interface FolderProps {
  workspaceId: string;
  /** The selected folder; empty: all workflows. */
  path: string;
  select: (path: string) => void;
}

/** Forms that create a folder in the selected folder, and rename, move or delete the selected folder. */
export function FolderForms(props: FolderProps & { folders: readonly Folder[] }) {
  const { path, folders } = props;
  const folder = folders.find((candidate) => candidate.path === path);
  return (
    <div className="button-row" role="group" aria-label="Folder">
      <NewFolderForm key={`new ${path}`} {...props} />
      {folder && <MoveFolderForm key={`move ${path}`} {...props} folder={folder} />}
      {folder && <DeleteFolderForm key={`delete ${path}`} {...props} folder={folder} />}
    </div>
  );
}

/** Returns a function that refetches folders and workflows after a change. */
function useRefetch(): () => Promise<unknown> {
  const queryClient = useQueryClient();
  return () =>
    Promise.all(
      ['folders', 'workflows', 'workflow'].map((key) => queryClient.invalidateQueries({ queryKey: [key] })),
    );
}

function NewFolderForm({ workspaceId, path, select }: FolderProps) {
  const [name, setName] = useState('');
  const refetch = useRefetch();
  const parentPath = path === '' ? ROOT : path;
  const create = async (): Promise<void> => {
    const newPath = subfolderPath(parentPath, name.trim());
    await createFolder({ workspaceId, path: newPath });
    await refetch();
    select(newPath);
  };
  return (
    <ConfirmButton
      label="New folder"
      title={parentPath === ROOT ? 'Create a folder' : `Create a folder in ${formatPath(parentPath)}`}
      onConfirm={create}
    >
      <NameField name={name} setName={setName} />
    </ConfirmButton>
  );
}

function NameField({ name, setName }: { name: string; setName: (name: string) => void }) {
  return (
    <label className="field">
      <span>Name</span>
      <input required maxLength={255} value={name} onChange={({ target }) => setName(target.value)} />
    </label>
  );
}

interface FolderFormProps extends FolderProps {
  folder: Folder;
  folders: readonly Folder[];
}

function MoveFolderForm({ workspaceId, path, select, folder, folders }: FolderFormProps) {
  const [name, setName] = useState(folder.name);
  const [parentPath, setParentPath] = useState(parentOf(path));
  const refetch = useRefetch();
  const relocate = async (): Promise<void> => {
    const destination = subfolderPath(parentPath, name.trim());
    if (destination === path) return;
    await relocateFolder({ workspaceId, path }, destination);
    await refetch();
    select(destination);
  };
  const destinations = folders.filter(
    (candidate) => candidate.path !== path && !candidate.path.startsWith(`${path}/`),
  );
  return (
    <ConfirmButton label="Rename or move" title={`Rename or move ${folder.name}`} onConfirm={relocate}>
      <NameField name={name} setName={setName} />
      <FolderSelect label="In" folders={destinations} path={parentPath} setPath={setParentPath} />
    </ConfirmButton>
  );
}

interface FolderSelectProps {
  label: string;
  folders: readonly Folder[];
  path: string;
  setPath: (path: string) => void;
}

function FolderSelect({ label, folders, path, setPath }: FolderSelectProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <select value={path} onChange={({ target }) => setPath(target.value)}>
        <option value={ROOT}>No folder</option>
        {folders.map((folder) => (
          <option key={folder.path} value={folder.path}>
            {formatPath(folder.path)}
          </option>
        ))}
      </select>
    </label>
  );
}

function DeleteFolderForm({ workspaceId, path, select, folder }: FolderFormProps) {
  const [isRecursive, setRecursive] = useState(false);
  const refetch = useRefetch();
  const remove = async (): Promise<void> => {
    await deleteFolder({ workspaceId, path }, isRecursive);
    await refetch();
    const parentPath = parentOf(path);
    select(parentPath === ROOT ? '' : parentPath);
  };
  return (
    <ConfirmButton label="Delete" title={`Delete ${folder.name}?`} danger onConfirm={remove}>
      <label className="check">
        <input
          type="checkbox"
          checked={isRecursive}
          onChange={({ target }) => setRecursive(target.checked)}
        />{' '}
        Even if it is not empty: its folders are deleted, and its workflows are archived
      </label>
    </ConfirmButton>
  );
}

interface MoveProps {
  workspaceId: string;
  workflowIds: readonly string[];
  folders: readonly Folder[];
  onMoved: () => void;
}

/** Moves the selected workflows to a folder. */
export function MoveWorkflowsForm({ workspaceId, workflowIds, folders, onMoved }: MoveProps) {
  const [path, setPath] = useState(ROOT);
  const refetch = useRefetch();
  const move = async (): Promise<void> => {
    try {
      await moveWorkflows(workspaceId, [...workflowIds], path);
      onMoved();
    } finally {
      // Some workflows may have been moved even if the request failed for others.
      await refetch();
    }
  };
  return (
    <ConfirmButton
      label="Move workflows"
      title={`Move ${workflowIds.length === 1 ? 'a workflow' : `${workflowIds.length} workflows`} to a folder`}
      disabled={workflowIds.length === 0}
      onConfirm={move}
    >
      <FolderSelect label="Folder" folders={folders} path={path} setPath={setPath} />
    </ConfirmButton>
  );
}

/** A folder and its workspace. */
interface FolderRef {
  workspaceId: string;
  path: string;
}

const FOLDERS_PATH = '/api/v2/workflows/folders';

/** Creates a folder. Its parent must exist. */
async function createFolder(body: FolderRef): Promise<void> {
  await dataOf(client.POST(FOLDERS_PATH, { body }));
}

/** Moves or renames a folder with its contents. */
async function relocateFolder(folder: FolderRef, destinationPath: string): Promise<void> {
  await dataOf(client.PATCH(FOLDERS_PATH, { body: { ...folder, destinationPath } }));
}

/** Deletes a folder. With `recursive`, also deletes the folders in it and archives its workflows. */
async function deleteFolder(folder: FolderRef, recursive: boolean): Promise<void> {
  const query = { ...folder, recursive: recursive ? 'true' : 'false' } as const;
  await dataOf(client.DELETE(FOLDERS_PATH, { params: { query } }));
}

/** Moves workflows to a folder. Throws an Error with the server's reason if one was not moved. */
async function moveWorkflows(workspaceId: string, workflowIds: string[], folderPath: string): Promise<void> {
  const body = { workspaceId, workflowIds, folderPath };
  const { data } = await dataOf(client.POST('/api/v2/workflows/move', { body }));
  const [firstFailure] = data.failed;
  if (firstFailure)
    throw new Error(`Not moved: ${data.failed.length} of ${workflowIds.length}. ${firstFailure.reason}`);
}
