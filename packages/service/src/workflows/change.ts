import { notFound } from '@heddle/api/areas';
import type { Transaction } from 'kysely';
import { isPostgres } from '../store/dialect.ts';
import type { WorkflowRow } from '../store/schema.ts';
import { holdFolders } from './folders.ts';
import type { Db } from './folders.ts';
import type { WorkflowTables } from './tables.ts';

type Transacted = Transaction<WorkflowTables>;

/**
 * Runs `write` in a transaction that first locks the rows of the workflow's folders and of the workflow: a host that locks a
 * folder waits for the end of the write, and a write after that is refused. Throws 404 for an archived or deleted workflow,
 * 423 for a folder that a host has locked.
 *
 * @param alsoHeld the path of a folder that the write needs too
 */
export async function changeUnlocked<T>(
  db: Db,
  workflowId: string,
  write: (tx: Transacted) => Promise<T>,
  alsoHeld?: string,
): Promise<T> {
  for (;;) {
    const done = await db.transaction().execute(async (tx) => {
      const before = await activeRow(tx, workflowId);
      const paths = [before.folder_path, ...(alsoHeld === undefined ? [] : [alsoHeld])];
      await holdFolders(tx, { workspaceId: before.workspace_id, paths });
      const held = await activeRow(tx, workflowId, { lock: true });
      // Moved while this transaction waited for a folder: the next attempt checks the folders of its new path.
      if (held.folder_path !== before.folder_path) return undefined;
      return { value: await write(tx) };
    });
    if (done) return done.value;
  }
}

async function activeRow(
  tx: Transacted,
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
