import type { Principal } from '@heddle/api';
import { ApiError } from '@heddle/api';
import { badRequest } from '@heddle/api/areas';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { graphBody } from '../workflows/draft-schemas.ts';
import { graphOf } from '../workflows/graph.ts';
import { fingerprintOf } from './fingerprint.ts';
import { fieldsOf, isEmpty } from './graph.ts';
import type { PortableGraph } from './graph.ts';
import { occurrenceKey } from './instructions.ts';
import { REFERENCE_KINDS } from './kinds.ts';
import { isReady, referencesClearedByExport } from './plan.ts';
import type { ImportPlan, PlannedBinding } from './plan.ts';
import { PayloadError, readPayload } from './payload.ts';
import type { Payload } from './payload.ts';
import type { PreviewRequest, Report } from './schemas.ts';

/** Maximum lengths of the name that a file gives to a workflow, and of its description. */
const MAX_NAME_LENGTH = 200;
const MAX_DESCRIPTION_LENGTH = 2000;
const DEFAULT_NAME = 'Imported workflow';
/** Maximum number of lines of warnings, and of issues of a receipt. */
const MAX_WARNINGS = 1000;
const MAX_ISSUES = 2000;

/** An imported file, with the name and description of its workflow. */
export interface ImportFile extends Payload {
  name: string;
  description: string | undefined;
  /** A line for everything that was changed or dropped to make a draft from the file. */
  warnings: string[];
}

/** Returns the workflow of a file, with its graph in the form of a draft. Throws 400 for an invalid file. */
export function readImportFile(file: PreviewRequest['workflow']): ImportFile {
  const payload = payloadOf(file as Json);
  const { blocks, edges, variables, metadata } = payload.graph;
  const body = graphBody.safeParse({ blocks, edges, variables, metadata });
  if (!body.success) {
    const [issue] = body.error.issues;
    const path = ['workflow.state', ...(issue?.path ?? [])].join('.').slice(0, 300);
    throw badRequest(`${path}: ${issue?.message ?? 'invalid'}`);
  }
  const emptyGraph = { blocks: {}, edges: [], loops: {}, parallels: {}, variables: {} };
  const { graph, warnings } = graphOf(body.data, emptyGraph);
  return {
    ...payload,
    graph,
    warnings,
    name: toStorable(payload.name ?? '', MAX_NAME_LENGTH).trim() || DEFAULT_NAME,
    description: payload.description && toStorable(payload.description, MAX_DESCRIPTION_LENGTH),
  };
}

function payloadOf(file: Json): Payload {
  try {
    return readPayload(file);
  } catch (error) {
    if (error instanceof PayloadError) throw badRequest(error.message);
    throw error;
  }
}

/** Returns the beginning of a string, in a form that both databases can store. */
function toStorable(text: string, maxLength: number): string {
  return text.replaceAll('\0', '').slice(0, maxLength).toWellFormed();
}

/** Throws 403 if a request with a workspace key binds a credential, because such a key does not act for a user. */
export function requireCredentialBindingAllowed(
  { mappings, bindings }: PreviewRequest,
  { kind }: Principal,
): void {
  if (kind !== 'workspace') return;
  const instructions = [...(mappings ?? []), ...(bindings ?? [])];
  if (!instructions.some((instruction) => instruction.kind === 'credential' && instruction.targetId != null))
    return;
  throw new ApiError(403, 'A workspace key cannot bind credentials', {
    details: { code: 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED' },
  });
}

/** Returns a hash of an import and of the targets of its references. It changes when a target changes or disappears. */
export function previewFingerprintOf(request: PreviewRequest, plan: ImportPlan): string {
  const { bindings, unresolvedBindings, configuration } = plan;
  return fingerprintOf({ request: contentOf(request), bindings, unresolvedBindings, configuration });
}

function contentOf(request: PreviewRequest): object {
  const { requestId: _id, previewFingerprint: _hash, ...content } = request as { [key: string]: unknown };
  return content;
}

/** Returns the warnings of the file, and a line for each value that the imported workflow lacks. */
export function warningsOf(file: ImportFile, plan: ImportPlan): string[] {
  const names = namesOf(file.graph);
  const labelOf = ({ blockId, subBlockKey }: PlannedBinding['occurrence']): string =>
    `${names.get(blockId) ?? blockId}: ${subBlockKey}`;
  const plannedKeys = new Set(plan.bindings.map(({ occurrence }) => occurrenceKey(occurrence)));
  const clearedReferences = referencesClearedByExport(file).filter(
    ({ occurrence }) => !plannedKeys.has(occurrenceKey(occurrence)),
  );
  const emptyFields = new Set(clearedReferences.map(({ occurrence }) => labelOf(occurrence)));
  const lines = [...file.warnings];
  for (const { occurrence, kind, sourceId } of plan.unresolvedBindings) {
    const label = labelOf(occurrence);
    if (kind === 'credential') emptyFields.add(label);
    else
      lines.push(
        `${label} refers to the ${kind} "${sourceId.slice(0, 100)}", which does not exist in this workspace`,
      );
  }
  for (const label of missingReferenceLabelsOf(plan.graph)) emptyFields.add(label);
  for (const label of emptyFields) lines.push(`${label} was cleared by the export; set it before running`);
  return lines.length <= MAX_WARNINGS
    ? lines
    : [...lines.slice(0, MAX_WARNINGS - 1), `${lines.length - MAX_WARNINGS + 1} more warnings`];
}

/** The data of the report of an import. */
export interface ReportData {
  operationId: string;
  requestId: string;
  workspaceId: string;
  workflowId: string;
  plan: ImportPlan;
  warnings: readonly string[];
  /** The new id of each id in the file. */
  idMap: ReadonlyMap<string, string>;
}

/** Returns the report of an import. Its issues are the required references that were cleared, and the warnings. */
export function reportOf({ plan, warnings, idMap, workflowId, ...ids }: ReportData): Report {
  const clearedIssues = plan.clearedBindings.map(({ kind, occurrence: { blockId, subBlockKey } }) => ({
    code: 'REFERENCE_CLEARED',
    message: `The ${kind} of "${subBlockKey}" was cleared, and the block needs it`,
    workflowId,
    blockId: idMap.get(blockId) ?? blockId,
    subBlockKey,
  }));
  const warningIssues = warnings.map((message) => ({ code: 'IMPORT_WARNING', message, workflowId }));
  const completedStatus = warningIssues.length > 0 ? 'completed_with_warnings' : 'completed';
  return {
    ...ids,
    kind: 'workflow_import',
    applied: true,
    status: clearedIssues.length > 0 ? 'requires_configuration' : completedStatus,
    resourceIds: [workflowId],
    issues: [...clearedIssues, ...warningIssues].slice(0, MAX_ISSUES),
    idMap: Object.fromEntries(idMap),
  };
}

/** Throws 409 if the fingerprint of the caller's preview differs from that of the plan, or if the plan is not ready. */
export function requireApplicable(
  plan: ImportPlan,
  callerFingerprint: string | undefined,
  planFingerprint: string,
): void {
  if (callerFingerprint !== planFingerprint) {
    throw new ApiError(409, 'The preview is out of date: preview the import again', {
      details: { code: 'PREVIEW_STALE' },
    });
  }
  if (isReady(plan)) return;
  const { unresolvedBindings, unresolvedConfiguration } = plan;
  throw new ApiError(409, 'The import is not ready: map, bind or clear its unresolved references', {
    details: {
      code: 'IMPORT_NOT_READY',
      unresolvedBindings: unresolvedBindings.slice(0, 100),
      unresolvedConfiguration: unresolvedConfiguration.slice(0, 100),
    } as unknown as JsonObject,
  });
}

function namesOf({ blocks }: PortableGraph): Map<string, string> {
  return new Map(Object.entries(blocks).map(([id, { name }]) => [id, typeof name === 'string' ? name : id]));
}

/** Returns the required references without a value in any field of their block, as `<block name>: <field>`. */
function missingReferenceLabelsOf(graph: PortableGraph): string[] {
  const labelByRequirement = new Map<string, string>();
  const metRequirements = new Set<string>();
  for (const { blockId, blockType, blockName, key, type, value } of fieldsOf(graph)) {
    const referenceField = { ownerType: blockType, key, type };
    const referenceKind = REFERENCE_KINDS.find(({ accepts }) => accepts(referenceField));
    const isCredentialField = referenceKind?.kind === 'credential' && key === 'credential';
    if (!referenceKind || (!isCredentialField && !referenceKind.isRequired?.(referenceField))) continue;
    const requirement = `${referenceKind.kind} ${blockId}`;
    if (!isEmpty(value)) metRequirements.add(requirement);
    else if (!labelByRequirement.has(requirement))
      labelByRequirement.set(requirement, `${blockName}: ${key}`);
  }
  return [...labelByRequirement]
    .filter(([requirement]) => !metRequirements.has(requirement))
    .map(([, label]) => label);
}
