import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { Kysely } from 'kysely';
import type { LintReport } from '../draft-schemas.ts';
import type { Db } from '../folders.ts';
import type { Graph } from '../graph.ts';
import { fieldsOf, objectOf, textOf } from '../../transfer/graph.ts';
import { REFERENCE_KINDS } from '../../transfer/kinds.ts';
import { chunkedFinder, storeLookups } from '../../transfer/lookups.ts';
import { MAX_OCCURRENCES, referencesOf, structuredValue } from '../../transfer/references.ts';
import type { FoundReference } from '../../transfer/references.ts';
import { isToolList } from '../../transfer/sanitize.ts';
import { MAX_LISTED_ITEMS, blockRefOf, truncateForReport } from './context.ts';
import type { LintContext } from './context.ts';

type UnresolvedReference = LintReport['unresolvedReferences'][number];

/** Returns why a reference has no target; undefined if it has one. */
type ReasonOf = (id: string) => string | undefined;

interface WorkspaceContext {
  db: Db;
  workspaceId: string;
  context: LintContext;
}

const KINDS = REFERENCE_KINDS.filter(({ kind }) => kind === 'workflow' || kind === 'skill');
const KINDS_WITH_SANDBOXES = REFERENCE_KINDS.filter(
  ({ kind }) => kind === 'sandbox' || KINDS.some((knownKind) => knownKind.kind === kind),
);

/**
 * The names that a placeholder can have. Other text in double braces is not a placeholder: other template languages
 * use double braces too.
 */
const PLACEHOLDER_NAME = /^[A-Za-z_]\w*$/;

/** The ids of sandboxes. Other names belong to images of the operator, which no workspace lists. */
const SANDBOX_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns the references of a draft to workflows, sandboxes, skills, secrets and tools that the workspace does not
 * have, at most 500.
 */
export async function findUnresolvedResources(
  graph: Graph,
  workspace: WorkspaceContext,
): Promise<UnresolvedReference[]> {
  const { hasSandboxes, tools } = workspace.context;
  const kinds = hasSandboxes ? KINDS_WITH_SANDBOXES : KINDS;
  const referencesByKind = Map.groupBy(limitReferences(referencesOf(graph, kinds)), ({ kind }) => kind);
  const unresolvedReferences: UnresolvedReference[] = [];
  for (const { kind, check } of [
    { kind: 'workflow', check: checkWorkflows },
    { kind: 'sandbox', check: checkSandboxes },
    { kind: 'skill', check: checkSkills },
    { kind: 'env-var', check: checkSecretNames },
  ] as const) {
    const references = referencesByKind.get(kind) ?? [];
    if (references.length === 0) continue;
    const reasonOf = await check([...new Set(references.map(({ sourceId }) => sourceId))], workspace);
    for (const reference of references)
      addUnresolvedReference(unresolvedReferences, {
        graph,
        reference,
        reason: reasonOf(reference.sourceId),
      });
  }
  for (const tool of unknownTools(graph, tools)) {
    if (unresolvedReferences.length === MAX_LISTED_ITEMS) break;
    unresolvedReferences.push(tool);
  }
  return unresolvedReferences;
}

function* limitReferences(references: Iterable<FoundReference>): Generator<FoundReference> {
  let count = 0;
  for (const reference of references) {
    if (count === MAX_OCCURRENCES) return;
    count += 1;
    yield reference;
  }
}

function addUnresolvedReference(
  unresolvedReferences: UnresolvedReference[],
  { graph, reference, reason }: { graph: Graph; reference: FoundReference; reason: string | undefined },
): void {
  if (reason === undefined || unresolvedReferences.length === MAX_LISTED_ITEMS) return;
  const { kind, sourceId, occurrence } = reference;
  unresolvedReferences.push({
    ...blockRefOf(graph, occurrence.blockId),
    field: occurrence.subBlockKey,
    value: truncateForReport(kind === 'env-var' ? `{{${sourceId}}}` : sourceId),
    kind: kind === 'env-var' ? 'credential' : kind === 'skill' ? kind : 'resource',
    reason,
  });
}

/** Checks child workflows. References are ids or names of workflows, which must be deployed. */
async function checkWorkflows(
  names: readonly string[],
  { db, workspaceId }: WorkspaceContext,
): Promise<ReasonOf> {
  const isDeployedByName = new Map<string, boolean>();
  const findWorkflows = chunkedFinder((chunk) =>
    db
      .selectFrom('workflows')
      .select(['id', 'name', 'active_version'])
      .where('workspace_id', '=', workspaceId)
      .where('archived_at', 'is', null)
      .where((eb) => eb.or([eb('id', 'in', chunk), eb('name', 'in', chunk)]))
      .execute(),
  );
  for (const { id, name, active_version: version } of await findWorkflows(names)) {
    for (const key of [id, name])
      isDeployedByName.set(key, (isDeployedByName.get(key) ?? false) || version !== null);
  }
  return (name) => {
    const isDeployed = isDeployedByName.get(name);
    if (isDeployed === undefined)
      return `The workspace has no workflow with the id or name "${truncateForReport(name)}".`;
    return isDeployed ? undefined : `The workflow "${truncateForReport(name)}" is not deployed.`;
  };
}

async function checkSandboxes(
  ids: readonly string[],
  { db, workspaceId }: WorkspaceContext,
): Promise<ReasonOf> {
  const existingIds = await storeLookups(db as Kysely<unknown>).sandbox(ids, { workspaceId });
  return (id) =>
    existingIds.has(id) || !SANDBOX_ID.test(id) ? undefined : `The workspace has no sandbox "${id}".`;
}

async function checkSkills(
  references: readonly string[],
  { db, workspaceId }: WorkspaceContext,
): Promise<ReasonOf> {
  const existingIds = await storeLookups(db as Kysely<unknown>).skill(references, { workspaceId });
  return (reference) =>
    existingIds.has(reference)
      ? undefined
      : `The workspace has no skill with the id or name "${truncateForReport(reference)}".`;
}

function checkSecretNames(
  _: readonly string[],
  { context: { environmentNames } }: WorkspaceContext,
): ReasonOf {
  if (!environmentNames) return () => undefined;
  return (name) =>
    environmentNames.has(name) || !PLACEHOLDER_NAME.test(name)
      ? undefined
      : `The workspace has no secret "${truncateForReport(name)}": the placeholder stays as it is.`;
}

const MCP_TYPES: ReadonlySet<string> = new Set(['mcp', 'mcp-server', 'mcp-server-advanced']);

/** Yields the tools of agents that are not registered, and custom tools without code. */
function* unknownTools(graph: Graph, tools: LintContext['tools']): Generator<UnresolvedReference> {
  if (!tools) return;
  const registeredIds = new Set(tools.map(({ id }) => id));
  for (const field of fieldsOf(graph)) {
    if (!isToolList(field)) continue;
    const list = structuredValue(field);
    for (const tool of Array.isArray(list) ? list : []) {
      const problem = toolProblem(tool, registeredIds);
      if (problem) yield { ...blockRefOf(graph, field.blockId), field: field.key, ...problem };
    }
  }
}

/** Returns the problem of a tool; undefined if it has none. Agents use the first key that names a registered tool. */
function toolProblem(
  tool: Json,
  registeredIds: ReadonlySet<string>,
): Pick<UnresolvedReference, 'kind' | 'value' | 'reason'> | undefined {
  if (!isJsonObject(tool) || tool['usageControl'] === 'none') return undefined;
  if (tool['type'] === 'custom-tool') return customToolProblem(tool);
  const ids = ['toolId', 'operation', 'type'].map((key) => textOf(tool, key)).filter((id) => id !== '');
  const [firstId = ''] = ids;
  if (ids.some((id) => registeredIds.has(id))) return undefined;
  const isMcp = MCP_TYPES.has(textOf(tool, 'type'));
  const params = objectOf(tool, 'params');
  const value = truncateForReport(
    (isMcp && (textOf(params, 'toolName') || textOf(params, 'serverId'))) || firstId,
  );
  return {
    kind: isMcp ? 'mcp-tool' : 'resource',
    value,
    reason: isMcp ? 'This service has no MCP servers.' : `No tool with the id "${value}" is registered.`,
  };
}

function customToolProblem(
  tool: JsonObject,
): Pick<UnresolvedReference, 'kind' | 'value' | 'reason'> | undefined {
  if (textOf(tool, 'code').trim() !== '') return undefined;
  const value = truncateForReport(textOf(tool, 'customToolId') || textOf(tool, 'title'));
  return {
    kind: 'custom-tool',
    value,
    reason: 'The tool has no code. This service supports only custom tools with their code in the agent.',
  };
}
