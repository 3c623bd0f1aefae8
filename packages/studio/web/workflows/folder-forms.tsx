import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, dataOf } from '../api/client.ts';
import { Confirm } from '../parts/confirm.tsx';
import { ROOT, parentOf, subfolderPath, pathText } from './folder-rows.ts';
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
  const folder = folders.find((each) => each.path === path);
  return (
    <div className="button-row" role="group" aria-label="Folder">
      <NewFolder key={`new ${path}`} {...props} />
      {folder && <MoveFolder key={`move ${path}`} {...props} folder={folder} />}
      {folder && <DeleteFolder key={`delete ${path}`} {...props} folder={folder} />}
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

function NewFolder({ workspaceId, path, select }: FolderProps) {
  const [name, setName] = useState('');
  const refetch = useRefetch();
  const parent = path === '' ? ROOT : path;
  const create = async (): Promise<void> => {
    const newPath = subfolderPath(parent, name.trim());
    await createFolder({ workspaceId, path: newPath });
    await refetch();
    select(newPath);
  };
  return (
    <Confirm
      label="New folder"
      title={parent === ROOT ? 'Create a folder' : `Create a folder in ${pathText(parent)}`}
      onConfirm={create}
    >
      <NameField name={name} setName={setName} />
    </Confirm>
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

function MoveFolder({ workspaceId, path, select, folder, folders }: FolderFormProps) {
  const [name, setName] = useState(folder.name);
  const [parent, setParent] = useState(parentOf(path));
  const refetch = useRefetch();
  const relocate = async (): Promise<void> => {
    const destination = subfolderPath(parent, name.trim());
    if (destination === path) return;
    await relocateFolder({ workspaceId, path }, destination);
    await refetch();
    select(destination);
  };
  const destinations = folders.filter((each) => each.path !== path && !each.path.startsWith(`${path}/`));
  return (
    <Confirm label="Rename or move" title={`Rename or move ${folder.name}`} onConfirm={relocate}>
      <NameField name={name} setName={setName} />
      <FolderChoice label="In" folders={destinations} path={parent} setPath={setParent} />
    </Confirm>
  );
}

interface ChoiceProps {
  label: string;
  folders: readonly Folder[];
  path: string;
  setPath: (path: string) => void;
}

function FolderChoice({ label, folders, path, setPath }: ChoiceProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <select value={path} onChange={({ target }) => setPath(target.value)}>
        <option value={ROOT}>No folder</option>
        {folders.map((each) => (
          <option key={each.path} value={each.path}>
            {pathText(each.path)}
          </option>
        ))}
      </select>
    </label>
  );
}

function DeleteFolder({ workspaceId, path, select, folder }: FolderFormProps) {
  const [isRecursive, setRecursive] = useState(false);
  const refetch = useRefetch();
  const remove = async (): Promise<void> => {
    await deleteFolder({ workspaceId, path }, isRecursive);
    await refetch();
    const parent = parentOf(path);
    select(parent === ROOT ? '' : parent);
  };
  return (
    <Confirm label="Delete" title={`Delete ${folder.name}?`} danger onConfirm={remove}>
      <label className="check">
        <input
          type="checkbox"
          checked={isRecursive}
          onChange={({ target }) => setRecursive(target.checked)}
        />{' '}
        Even if it is not empty: its folders are deleted, and its workflows are archived
      </label>
    </Confirm>
  );
}

interface MoveProps {
  workspaceId: string;
  workflowIds: readonly string[];
  folders: readonly Folder[];
  onMoved: () => void;
}

/** Moves the selected workflows to a folder. */
export function MoveWorkflows({ workspaceId, workflowIds, folders, onMoved }: MoveProps) {
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
    <Confirm
      label="Move workflows"
      title={`Move ${workflowIds.length === 1 ? 'a workflow' : `${workflowIds.length} workflows`} to a folder`}
      disabled={workflowIds.length === 0}
      onConfirm={move}
    >
      <FolderChoice label="Folder" folders={folders} path={path} setPath={setPath} />
    </Confirm>
  );
}

/** A folder and its workspace. */
interface FolderRef {
  workspaceId: string;
  path: string;
}

const FOLDERS = '/api/v2/workflows/folders';

/** Creates a folder. Its parent must exist. */
async function createFolder(body: FolderRef): Promise<void> {
  await dataOf(client.POST(FOLDERS, { body }));
}

/** Moves or renames a folder with its contents. */
async function relocateFolder(folder: FolderRef, destinationPath: string): Promise<void> {
  await dataOf(client.PATCH(FOLDERS, { body: { ...folder, destinationPath } }));
}

/** Deletes a folder. With `recursive`, also deletes the folders in it and archives its workflows. */
async function deleteFolder(folder: FolderRef, recursive: boolean): Promise<void> {
  const query = { ...folder, recursive: recursive ? 'true' : 'false' } as const;
  await dataOf(client.DELETE(FOLDERS, { params: { query } }));
}

/** Moves workflows to a folder. Throws an Error with the server's reason if one was not moved. */
async function moveWorkflows(workspaceId: string, workflowIds: string[], folderPath: string): Promise<void> {
  const body = { workspaceId, workflowIds, folderPath };
  const { data } = await dataOf(client.POST('/api/v2/workflows/move', { body }));
  const [first] = data.failed;
  if (first) throw new Error(`Not moved: ${data.failed.length} of ${workflowIds.length}. ${first.reason}`);
}
