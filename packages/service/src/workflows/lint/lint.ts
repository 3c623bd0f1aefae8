import type { WorkflowRow } from '../../store/schema.ts';
import { tablesOf } from '../context.ts';
import type { WorkflowServices } from '../context.ts';
import type { LintReport } from '../draft-schemas.ts';
import { exported } from '../graph.ts';
import type { Graph } from '../graph.ts';
import { lintReport } from './report.ts';
import { missingFields } from './required-fields.ts';
import { unresolvedResources } from './resources.ts';

/** Returns the problems of a draft. They are advice: a draft with problems can be saved. */
export async function lint(services: WorkflowServices, row: WorkflowRow, graph: Graph): Promise<LintReport> {
  const { engine, compat, sources } = services;
  const diagnostics = engine.check(exported(row, graph), { compat });
  const resources = await unresolvedResources(graph, {
    ...{ sources, db: tablesOf(services), workspaceId: row.workspace_id },
  });
  const missing = missingFields(graph, await services.requiredFields());
  return lintReport(graph, { diagnostics, missing, resources, sources });
}
