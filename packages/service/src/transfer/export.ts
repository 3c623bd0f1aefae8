import type { JsonObject } from '@heddle/core/blocks';
import { containersOf } from '../workflows/containers.ts';
import type { PortableGraph } from './graph.ts';
import { REFERENCE_KINDS } from './kinds.ts';
import { manifestOf, MAX_OCCURRENCES, referencesOf } from './references.ts';
import type { FoundReference, ReferenceManifest } from './references.ts';
import { sanitize } from './sanitize.ts';
import { withoutSecrets } from './secrets.ts';
import type { ClearedField } from './sanitize.ts';

/** Maximum number of lines of an export's warnings. */
const MAX_WARNINGS = 1000;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface ExportedWorkflow {
  id: string;
  name: string;
  description: string | null;
  workspaceId: string;
  folderPath: string;
}

export interface ExportOptions {
  includeReferences: boolean;
  includeWorkspaceBindings: boolean;
  /** ISO 8601. */
  exportedAt: string;
}

/** An export: the workflow without secrets, and a list of the cleared fields. */
export interface WorkflowExport {
  version: '1.0';
  representation: 'portable-export';
  exportedAt: string;
  workflow: ExportedWorkflow;
  state: JsonObject;
  warnings: string[];
  referenceManifest?: ReferenceManifest;
}

/** Returns the export of a draft: a file that other installations can import. */
export function exportOf(
  workflow: ExportedWorkflow,
  draft: PortableGraph,
  { includeReferences, includeWorkspaceBindings, exportedAt }: ExportOptions,
): WorkflowExport {
  const { graph, clearedFields, warnings } = sanitize(draft, { keepBindings: includeWorkspaceBindings });
  const references = includeReferences
    ? manifestOf(withoutSecretIds(referencesOf(draft, REFERENCE_KINDS)))
    : undefined;
  const lines = [
    ...warnings,
    ...clearedFields.map(clearedFieldWarning),
    ...(references?.isComplete === false
      ? [`The manifest has the first ${MAX_OCCURRENCES} references: the workflow has more.`]
      : []),
  ];
  const { blocks, edges, variables, metadata } = graph;
  const containers = containersOf(Object.entries(blocks));
  return {
    version: '1.0',
    representation: 'portable-export',
    exportedAt,
    workflow,
    state: { blocks, edges, ...containers, variables, ...(metadata && { metadata }) },
    warnings: truncate(lines),
    ...(references && { referenceManifest: references.manifest }),
  };
}

/** Yields the references whose ids cannot be secrets: a user can type a password into a field for an id. */
function* withoutSecretIds(references: Iterable<FoundReference>): Generator<FoundReference> {
  for (const reference of references) {
    const { kind, sourceId, isChosen } = reference;
    if (kind === 'credential' && !isChosen && !UUID.test(sourceId)) continue;
    if (withoutSecrets(sourceId) === sourceId) yield reference;
  }
}

function clearedFieldWarning({ blockName, key }: ClearedField): string {
  return `${blockName}: ${key} was cleared.`;
}

function truncate(lines: string[]): string[] {
  if (lines.length <= MAX_WARNINGS) return lines;
  return [...lines.slice(0, MAX_WARNINGS - 1), `${lines.length - MAX_WARNINGS + 1} more warnings.`];
}
