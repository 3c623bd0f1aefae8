import type { Json } from '@heddle/core';
import { isJsonObject, normalizeName } from '@heddle/core/blocks';
import type { Engine, LogDetail, WorkflowBlock } from '@heddle/engine';
import { badRequest } from '../../errors.ts';
import type { ApiError } from '../../errors.ts';
import type { AreaContext } from '../../context.ts';
import type { Definition } from '../../ports.ts';

/** A resolved selector: a block, and a path into its output. */
export interface ResolvedSelector {
  selector: string;
  blockId: string;
  path: readonly string[];
  /** The called workflow that has the block; absent: the run's own workflow. */
  workflowId?: string;
}

type NamedBlock = Pick<WorkflowBlock, 'blockId' | 'name'>;
type Services = Pick<AreaContext, 'engine' | 'definitions'>;

/**
 * Resolves selectors to blocks and paths. `blocks` are the blocks of the run's workflow. A selector that begins with
 * the id of a workflow that the run can call refers to the live version of that workflow. Throws 400 for a selector
 * that names no block.
 */
export async function resolveSelectors(
  services: Services,
  selectors: readonly string[],
  run: { workflow: Definition; blocks: readonly NamedBlock[] },
): Promise<ResolvedSelector[]> {
  const index = blockIndexOf(run.blocks);
  const childIndexes = new Map<string, BlockIndex | undefined>();
  const resolvedSelectors: ResolvedSelector[] = [];
  for (const selector of selectors) {
    const resolvedSelector =
      resolveSelector(selector, index) ??
      (await resolveInChild(services, selector, { caller: run.workflow, childIndexes }));
    if (!resolvedSelector) throw unknownBlockError(selector, index);
    resolvedSelectors.push(resolvedSelector);
  }
  return resolvedSelectors;
}

/**
 * Resolves a selector that begins with the id of a callable workflow. `childIndexes` caches the workflows of earlier
 * selectors.
 */
async function resolveInChild(
  services: Services,
  selector: string,
  { caller, childIndexes }: { caller: Definition; childIndexes: Map<string, BlockIndex | undefined> },
): Promise<ResolvedSelector | undefined> {
  const end = selector.indexOf('.');
  const workflowId = end < 0 ? '' : selector.slice(0, end);
  if (workflowId === '') return undefined;
  if (!childIndexes.has(workflowId))
    childIndexes.set(workflowId, await blockIndexOfChild(services, caller, workflowId));
  const index = childIndexes.get(workflowId);
  if (!index) return undefined;
  const resolvedSelector = resolveSelector(selector.slice(end + 1), index);
  if (!resolvedSelector) throw unknownBlockError(selector, index);
  return { ...resolvedSelector, selector, workflowId };
}

/** Returns the blocks of the live version of a workflow; undefined when `caller` cannot call it. */
async function blockIndexOfChild(
  { engine, definitions }: Services,
  caller: Definition,
  workflowId: string,
): Promise<BlockIndex | undefined> {
  const child = await definitions.resolveChild(caller.id, workflowId);
  if (child?.workflow !== workflowId) return undefined;
  const { version } = child;
  return blockIndexOf(await engine.blocks(workflowId, version === undefined ? {} : { version }));
}

/** Maximum number of block names in an error message. */
const MAX_NAMES = 50;

function unknownBlockError(selector: string, { names: allNames }: BlockIndex): ApiError {
  const names = allNames
    .toSorted()
    .slice(0, MAX_NAMES)
    .map((name) => `"${name}"`)
    .join(', ');
  const omission = allNames.length > MAX_NAMES ? ` and ${allNames.length - MAX_NAMES} more` : '';
  return badRequest(
    `Invalid selectedOutputs: "${selector}" names no block. Available blocks: ${names}${omission}.`,
  );
}

/** An index of blocks, by which selectors are resolved. Of several blocks with the same name, the first one is used. */
interface BlockIndex {
  /** Positions in `ids`, by id. */
  positions: ReadonlyMap<string, number>;
  ids: readonly string[];
  names: readonly string[];
  /** Ids by normalized name. */
  idsByName: ReadonlyMap<string, string>;
  /** Length of the longest id. */
  maxIdLength: number;
}

function blockIndexOf(blocks: readonly NamedBlock[]): BlockIndex {
  const ids = blocks.map(({ blockId }) => blockId);
  return {
    positions: new Map(ids.map((id, position) => [id, position])),
    ids,
    names: blocks.map(({ name }) => name),
    idsByName: new Map(blocks.toReversed().map(({ blockId, name }) => [normalizeName(name), blockId])),
    maxIdLength: ids.reduce((longest, id) => Math.max(longest, id.length), 0),
  };
}

/** Resolves a selector of the form `block.path` or `block`, with the name or id of the block, or `id_path`. */
function resolveSelector(selector: string, index: BlockIndex): ResolvedSelector | undefined {
  const [head = '', ...path] = selector.split('.');
  const headId = index.positions.has(head) ? head : index.idsByName.get(normalizeName(head));
  if (headId !== undefined) return { selector, blockId: headId, path };
  const prefixId = findIdPrefix(selector, index);
  if (prefixId === undefined) return undefined;
  return { selector, blockId: prefixId, path: selector.slice(prefixId.length + 1).split('.') };
}

/** Returns the id of the first block whose id, followed by an underscore, begins the selector. */
function findIdPrefix(selector: string, { positions, ids, maxIdLength }: BlockIndex): string | undefined {
  let firstPosition: number | undefined;
  for (
    let end = selector.indexOf('_');
    end >= 0 && end <= maxIdLength;
    end = selector.indexOf('_', end + 1)
  ) {
    const position = positions.get(selector.slice(0, end));
    if (position !== undefined && position < (firstPosition ?? Infinity)) firstPosition = position;
  }
  return firstPosition === undefined ? undefined : ids[firstPosition];
}

/**
 * Returns the selected values by selector. Of all executions of a block, over all calls of its workflow, the last
 * completed one counts. Selectors of a block that did not complete, or of a path that does not exist, are omitted.
 */
export async function selectedValues(
  engine: Engine,
  runId: string,
  selectors: readonly ResolvedSelector[],
): Promise<{ [selector: string]: Json }> {
  const ownLogs = lastLogByBlock(await engine.getLogs(runId));
  const workflowIds = new Set(selectors.flatMap(({ workflowId = [] }) => workflowId));
  const lastChildLogs = new Map(
    [...(await logsOfDescendants(engine, runId, workflowIds))].map(([id, logs]) => [
      id,
      lastLogByBlock(logs),
    ]),
  );
  const entries: [string, Json][] = [];
  for (const { selector, blockId, path, workflowId } of selectors) {
    const logs = workflowId === undefined ? ownLogs : lastChildLogs.get(workflowId);
    const log = logs?.get(blockId);
    const value = log && valueAt(log.output, path);
    if (value !== undefined) entries.push([selector, value]);
  }
  return Object.fromEntries(entries);
}

/** Returns the last completed log of each block. */
function lastLogByBlock(logs: LogDetail[]): Map<string, LogDetail> {
  return new Map(logs.filter(({ status }) => status === 'completed').map((log) => [log.blockId, log]));
}

/** Maximum number of child runs that are searched for selected values. */
const MAX_CHILDREN = 1000;

/** Returns the logs of the run's descendants by workflow. */
async function logsOfDescendants(
  engine: Engine,
  runId: string,
  workflowIds: ReadonlySet<string>,
): Promise<Map<string, LogDetail[]>> {
  const logsByWorkflow = new Map([...workflowIds].map((id): [string, LogDetail[]] => [id, []]));
  const callerRunIds = workflowIds.size === 0 ? [] : [runId];
  for (const callerRunId of callerRunIds) {
    for (const child of await engine.childRuns(callerRunId)) {
      if (callerRunIds.length > MAX_CHILDREN) return logsByWorkflow;
      callerRunIds.push(child.runId);
      const childLogs = logsByWorkflow.get(child.workflowId);
      for (const log of childLogs ? await engine.getLogs(child.runId) : []) childLogs?.push(log);
    }
  }
  return logsByWorkflow;
}

/** Returns the value at the path; undefined when the path does not exist. */
export function valueAt(value: Json, path: readonly string[]): Json | undefined {
  let current: Json | undefined = value;
  for (const step of path) {
    if (Array.isArray(current)) current = current[Number(step)];
    else current = isJsonObject(current) && Object.hasOwn(current, step) ? current[step] : undefined;
  }
  return current;
}
