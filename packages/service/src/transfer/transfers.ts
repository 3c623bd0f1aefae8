import { randomUUID } from 'node:crypto';
import type { Principal } from '@heddle/api';
import type { Call } from '@heddle/api/areas';
import type { Kysely } from 'kysely';
import type { ServiceStore } from '../store/open.ts';
import type { WorkflowRow } from '../store/schema.ts';
import { findFreeName, regenerateIds } from '../workflows/duplicate.ts';
import { canonicalPath, requireFolder } from '../workflows/folders.ts';
import { readGraph } from '../workflows/graph.ts';
import type { Db } from '../workflows/folders.ts';
import { addWorkflow, workflowNamesIn } from '../workflows/store.ts';
import { exportOf } from './export.ts';
import type { ExportOptions, WorkflowExport } from './export.ts';
import { fingerprintOf } from './fingerprint.ts';
import { textOf } from './graph.ts';
import type { PortableGraph } from './graph.ts';
import {
  requireApplicable,
  requireCredentialBindingAllowed,
  previewFingerprintOf,
  readImportFile,
  reportOf,
  warningsOf,
} from './import.ts';
import type { ImportFile } from './import.ts';
import { storeLookups } from './lookups.ts';
import type { Lookups } from './lookups.ts';
import { isReady, planImport, clearCredentials } from './plan.ts';
import type { ImportPlan } from './plan.ts';
import { addReceipt, findReceipt, readPageOfReceipts, findReceiptOfRequest } from './receipts.ts';
import type { ReceiptPosition, ReceiptsQuery } from './receipts.ts';
import type { ImportRequest, ImportResult, PreviewRequest, Report } from './schemas.ts';
import type { ReceiptTables } from './tables.ts';

type RecordAudit = Call<never, never, never>['recordAudit'];

/** Dependencies of exports and imports. */
export interface TransferOptions {
  store: Pick<ServiceStore, 'database'>;
  now: () => number;
}

/** The caller who imports a workflow, and the function that records the import in the audit log. */
interface ImportContext {
  principal: Principal;
  recordAudit: RecordAudit;
}

/** The request id of an import, and the hash of the request. */
interface RequestKey {
  requestId: string;
  hash: string;
}

/** Exports and imports workflows, and reads the receipts of imports. */
export class Transfers {
  readonly #db: Db;
  readonly #lookups: Lookups;
  readonly #now: () => number;

  constructor({ store, now }: TransferOptions) {
    this.#db = store.database as Db;
    this.#lookups = storeLookups(store.database as Kysely<unknown>);
    this.#now = now;
  }

  /** Returns the export of a draft, and records that it was exported. */
  async export(
    row: WorkflowRow,
    options: Omit<ExportOptions, 'exportedAt'>,
    recordAudit: RecordAudit,
  ): Promise<WorkflowExport> {
    const { id, name, description, workspace_id: workspaceId, folder_path: folderPath } = row;
    const exported = exportOf(
      { id, name, description, workspaceId, folderPath },
      readGraph(row.state) as PortableGraph,
      { ...options, exportedAt: this.#isoNow() },
    );
    await recordAudit({ resourceId: id });
    return exported;
  }

  /** Returns the effects of an import. Writes nothing. Throws 400 for a file or instructions that cannot be used. */
  async preview(request: PreviewRequest, principal: Principal) {
    const { workspaceId, folderPath = '/' } = request;
    requireCredentialBindingAllowed(request, principal);
    await requireFolder(this.#db, { workspaceId, path: canonicalPath(folderPath) });
    const plan = await this.#plan(request, readImportFile(request.workflow), principal);
    const { graph: _graph, clearedBindings: _cleared, ...preview } = plan;
    return {
      previewFingerprint: previewFingerprintOf(request, plan),
      ready: isReady(plan),
      ...preview,
    };
  }

  /**
   * Creates a workflow from a file. An import with a request id requires a current preview and stores a receipt; a
   * repeated request returns the result of the first. Throws 409 for a request id that another request has used, for a
   * stale preview, and for an import that is not ready; 404 for an unknown folder, and 423 for a locked one.
   */
  async import(body: ImportRequest, { principal, recordAudit }: ImportContext): Promise<ImportResult> {
    const { workspaceId, requestId } = body;
    requireCredentialBindingAllowed(body, principal);
    const requestKey = requestId === undefined ? undefined : { requestId, hash: fingerprintOf(body) };
    const earlierResult = requestKey && (await this.#findEarlierResult(workspaceId, requestKey));
    if (earlierResult) return earlierResult;
    const file = readImportFile(body.workflow);
    // Without a preview, the caller has not seen the changes that a manifest would make.
    const plan = await this.#plan(body, requestKey ? file : { graph: file.graph }, principal);
    if (requestKey) requireApplicable(plan, body.previewFingerprint, previewFingerprintOf(body, plan));
    const appliedResult = await this.#apply(body, { file, plan, requestKey, recordAudit });
    // Another call with the same request id has stored its receipt first.
    const result = appliedResult ?? (requestKey && (await this.#findEarlierResult(workspaceId, requestKey)));
    if (!result) throw new Error('The receipt of an import is missing.');
    return result;
  }

  /** Returns the report of an operation; undefined if the workspace has none with this id. */
  async findReport(workspaceId: string, id: string): Promise<Report | undefined> {
    const row = await findReceipt(this.#receiptDb(this.#db), { workspaceId, id });
    return row && (JSON.parse(row.report) as Report);
  }

  /** Returns a page of reports, newest first, and the position of the last report if more follow. */
  async findReports(query: ReceiptsQuery): Promise<{ reports: Report[]; next: ReceiptPosition | undefined }> {
    const { rows, next } = await readPageOfReceipts(this.#receiptDb(this.#db), query);
    return { reports: rows.map(({ report }) => JSON.parse(report) as Report), next };
  }

  async #findEarlierResult(workspaceId: string, requestKey: RequestKey): Promise<ImportResult | undefined> {
    const row = await findReceiptOfRequest(this.#receiptDb(this.#db), { workspaceId, ...requestKey });
    return row && (JSON.parse(row.result) as ImportResult);
  }

  #plan(
    request: PreviewRequest,
    file: Pick<ImportFile, 'graph' | 'manifest'>,
    principal: Principal,
  ): Promise<ImportPlan> {
    const { workspaceId } = request;
    return planImport(file, request, { destination: { workspaceId, principal }, lookups: this.#lookups });
  }

  /** Adds the workflow and the receipt. Adds nothing and returns undefined if the request id has a receipt. */
  async #apply(
    body: ImportRequest,
    { file, plan, requestKey, recordAudit }: ApplyOptions,
  ): Promise<ImportResult | undefined> {
    const warnings = warningsOf(file, plan);
    const graph = requestKey ? plan.graph : clearCredentials(plan.graph);
    const { graph: newGraph, idMap } = regenerateIds(graph, randomUUID);
    const draft: PortableGraph = { ...newGraph, ...(graph.metadata && { metadata: graph.metadata }) };
    const operationId = randomUUID();
    return this.#db.transaction().execute(async (tx) => {
      const { workspaceId } = body;
      // Inserted first, so that a second call with the same request id waits here for the end of the first.
      if (requestKey && !(await this.#reserveRequestId(tx, operationId, { workspaceId, ...requestKey })))
        return undefined;
      const row = await this.#addWorkflow(tx, body, { file, draft });
      const view = { ...viewOf(row, draft), warnings };
      await recordAudit({ resourceId: row.id }, tx);
      if (!requestKey) return view;
      const ids = { operationId, requestId: requestKey.requestId, workspaceId, workflowId: row.id };
      const report = reportOf({ ...ids, plan, warnings, idMap });
      const result = { ...report, ...view };
      await this.#receiptDb(tx)
        .updateTable('operation_receipts')
        .set({ report: JSON.stringify(report), result: JSON.stringify(result) })
        .where('id', '=', operationId)
        .execute();
      return result;
    });
  }

  async #reserveRequestId(
    tx: Db,
    id: string,
    { workspaceId, requestId, hash }: RequestKey & { workspaceId: string },
  ): Promise<boolean> {
    return addReceipt(this.#receiptDb(tx), {
      id,
      workspace_id: workspaceId,
      request_id: requestId,
      kind: 'workflow_import',
      request_hash: hash,
      report: '',
      result: '',
      created_at: this.#isoNow(),
    });
  }

  async #addWorkflow(
    tx: Db,
    body: ImportRequest,
    { file, draft }: { file: ImportFile; draft: PortableGraph },
  ): Promise<WorkflowRow> {
    const { workspaceId } = body;
    const folderPath = canonicalPath(body.folderPath ?? '/');
    const name = body.name ?? findFreeName(file.name, await workflowNamesIn(tx, workspaceId, folderPath));
    const description = body.description ?? file.description ?? null;
    return addWorkflow(tx, { workspaceId, name, description, folderPath, graph: draft, now: this.#isoNow() });
  }

  #receiptDb(db: Db): Kysely<ReceiptTables> {
    return db as unknown as Kysely<ReceiptTables>;
  }

  #isoNow(): string {
    return new Date(this.#now()).toISOString();
  }
}

interface ApplyOptions {
  file: ImportFile;
  plan: ImportPlan;
  requestKey: RequestKey | undefined;
  recordAudit: RecordAudit;
}

function viewOf(row: WorkflowRow, { blocks }: PortableGraph) {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    workspaceId: row.workspace_id,
    folderPath: row.folder_path,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    blocks: Object.entries(blocks).map(([id, block]) => ({
      ...{ id, type: textOf(block, 'type'), name: textOf(block, 'name') },
    })),
  };
}
