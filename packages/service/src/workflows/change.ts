import { notFound } from '@heddle/api/areas';
import type { Transaction } from 'kysely';
import { isPostgres } from '../store/dialect.ts';
import type { WorkflowRow } from '../store/schema.ts';
import { lockFolders } from './folders.ts';
import type { Db } from './folders.ts';
import type { WorkflowTables } from './tables.ts';

type Tx = Transaction<WorkflowTables>;

/**
 * Runs `write` in a transaction that first takes row locks on the workflow and its folders. A host application that
 * marks a folder as locked waits for the end of the write; later writes are refused. Throws 404 for an archived or
 * deleted workflow, and 423 if a folder is marked as locked.
 *
 * @param targetFolder the path of another folder that must not be locked
 */
export async function changeIfUnlocked<T>(
  db: Db,
  workflowId: string,
  write: (tx: Tx) => Promise<T>,
  targetFolder?: string,
): Promise<T> {
  for (;;) {
    const result = await db.transaction().execute(async (tx) => {
      const row = await findActiveWorkflow(tx, workflowId);
      const paths = [row.folder_path, ...(targetFolder === undefined ? [] : [targetFolder])];
      await lockFolders(tx, { workspaceId: row.workspace_id, paths });
      const lockedRow = await findActiveWorkflow(tx, workflowId, { lock: true });
      // The workflow was moved while this transaction waited: the next attempt locks the folders of its new path.
      if (lockedRow.folder_path !== row.folder_path) return undefined;
      return { value: await write(tx) };
    });
    if (result) return result.value;
  }
}

/** Returns the row of a workflow. Throws 404 if the workflow is archived or deleted. */
async function findActiveWorkflow(
  tx: Tx,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<Pick<WorkflowRow, 'workspace_id' | 'folder_path'>> {
  const row = await tx
    .selectFrom('workflows')
    .select(['workspace_id', 'folder_path'])
    .where('id', '=', id)
    .where('archived_at', 'is', null)
    .$if(lock && isPostgres(tx), (query) => query.forNoKeyUpdate())
    .executeTakeFirst();
  if (!row) throw notFound('Workflow');
  return row;
}
