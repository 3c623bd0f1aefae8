import type { ApiStore, Principal } from '@heddle/api';
import type { WorkflowRow } from '@heddle/api/drafts';
import { readGraph } from '@heddle/api/drafts';
import { record } from '../workflows/context.ts';
import type { Db } from '../workflows/folders.ts';
import { exportOf } from './export.ts';
import type { Exported, ExportOptions } from './export.ts';
import type { PortableGraph } from './graph.ts';

/** What export and import need. */
export interface TransferOptions {
  /** Opened with `openServiceStore`. */
  store: Pick<ApiStore, 'database'>;
  now: () => number;
}

/** Exports and imports workflows. */
export class Transfers {
  readonly #db: Db;
  readonly #now: () => number;

  constructor({ store, now }: TransferOptions) {
    this.#db = store.database as Db;
    this.#now = now;
  }

  /** Returns the export of a draft, and records that it was exported. */
  async export(
    row: WorkflowRow,
    options: Omit<ExportOptions, 'exportedAt'>,
    principal: Principal,
  ): Promise<Exported> {
    const { id, name, description, workspace_id: workspaceId, folder_path: folderPath } = row;
    const exported = exportOf(
      { id, name, description, workspaceId, folderPath },
      readGraph(row.state) as PortableGraph,
      { ...options, exportedAt: this.#time() },
    );
    await record(this.#db, { action: 'WORKFLOW_EXPORTED', workspaceId, resourceId: id }, principal);
    return exported;
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }
}
