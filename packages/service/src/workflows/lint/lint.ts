import type { Principal } from '@heddle/api';
import type { WorkflowRow } from '../../store/schema.ts';
import { databaseOf } from '../context.ts';
import type { WorkflowServices } from '../context.ts';
import type { LintReport } from '../draft-schemas.ts';
import { toEngineFormat } from '../graph.ts';
import type { Graph } from '../graph.ts';
import type { LintContext } from './context.ts';
import { createLintReport } from './report.ts';
import { findMissingFields } from './required-fields.ts';
import { findUnresolvedResources } from './resources.ts';

interface LintRequest {
  row: WorkflowRow;
  /** The reader of the report. */
  principal: Principal;
}

/**
 * Returns the problems of a draft. A draft with problems can be saved. If the data of a check cannot be read, the error
 * is reported and the check is skipped.
 */
export async function lint(
  services: WorkflowServices,
  { row, principal }: LintRequest,
  graph: Graph,
): Promise<LintReport> {
  const { engine, compat, sources } = services;
  const workspaceId = row.workspace_id;
  const diagnostics = engine.check(toEngineFormat(row, graph), { compat });
  // Only users may see the names of secrets, as in the list of secrets.
  const maySeeNames = principal.kind !== 'workspace' && sources.environments !== undefined;
  const environmentNames = maySeeNames
    ? await readOrReport(services, async () => new Set(await sources.environments?.names(workspaceId)))
    : undefined;
  const requiredFields = await readOrReport(services, services.readRequiredFields);
  const context: LintContext = {
    environmentNames,
    requiredFields,
    hasSandboxes: sources.hasSandboxes === true,
    tools: sources.tools,
  };
  const missingResources = await findUnresolvedResources(graph, {
    context,
    db: databaseOf(services),
    workspaceId,
  });
  const emptyFields = findMissingFields(graph, requiredFields ?? new Map());
  return createLintReport(graph, { diagnostics, emptyFields, missingResources, context });
}

/** Returns the result of `read`; undefined after a failure, which is reported. */
async function readOrReport<T>(
  { onError }: Pick<WorkflowServices, 'onError'>,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    onError(error);
    return undefined;
  }
}
