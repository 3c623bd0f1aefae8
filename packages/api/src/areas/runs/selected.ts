import type { Json } from '@heddle/core';
import { isJsonObject, normalizeName } from '@heddle/core/blocks';
import type { Engine, LogDetail, WorkflowBlock } from '@heddle/engine';
import { badRequest } from '../../errors.ts';
import type { ApiError } from '../../errors.ts';
import type { AreaContext } from '../../context.ts';
import type { Definition } from '../../ports.ts';

/** A resolved selector: a block, and a path into its output. */
export interface Selected {
  selector: string;
  blockId: string;
  path: readonly string[];
  /** The called workflow that has the block; absent: the run's own workflow. */
  workflowId?: string;
}

type NamedBlock = Pick<WorkflowBlock, 'blockId' | 'name'>;
type Ports = Pick<AreaContext, 'engine' | 'definitions'>;

/**
 * Resolves selectors to blocks and paths. `blocks` are the blocks of the run's workflow. A selector that begins with the id of a
 * workflow that the run can call refers to the live version of that workflow. Throws 400 for a selector that names no block.
 */
export async function resolveSelectors(
  services: Ports,
  selectors: readonly string[],
  of: { workflow: Definition; blocks: readonly NamedBlock[] },
): Promise<Selected[]> {
  const known = indexOf(of.blocks);
  const children = new Map<string, BlockIndex | undefined>();
  const found: Selected[] = [];
  for (const selector of selectors) {
    const selected =
      resolve(selector, known) ?? (await inChild(services, selector, { of: of.workflow, children }));
    if (!selected) throw unknownBlock(selector, known);
    found.push(selected);
  }
  return found;
}

/** Resolves a selector that begins with the id of a callable workflow. `children` caches the workflows of earlier selectors. */
async function inChild(
  services: Ports,
  selector: string,
  { of, children }: { of: Definition; children: Map<string, BlockIndex | undefined> },
): Promise<Selected | undefined> {
  const end = selector.indexOf('.');
  const workflowId = end < 0 ? '' : selector.slice(0, end);
  if (workflowId === '') return undefined;
  if (!children.has(workflowId)) children.set(workflowId, await childOf(services, of, workflowId));
  const known = children.get(workflowId);
  if (!known) return undefined;
  const selected = resolve(selector.slice(end + 1), known);
  if (!selected) throw unknownBlock(selector, known);
  return { ...selected, selector, workflowId };
}

/** Returns the blocks of the live version of a workflow; undefined when `caller` cannot call it. */
async function childOf(
  { engine, definitions }: Ports,
  caller: Definition,
  workflowId: string,
): Promise<BlockIndex | undefined> {
  const child = await definitions.resolveChild(caller.id, workflowId);
  if (child?.workflow !== workflowId) return undefined;
  const { version } = child;
  return indexOf(await engine.blocks(workflowId, version === undefined ? {} : { version }));
}

/** Maximum number of block names in an error message. */
const MAX_NAMES = 50;

function unknownBlock(selector: string, { names: all }: BlockIndex): ApiError {
  const names = all
    .toSorted()
    .slice(0, MAX_NAMES)
    .map((name) => `"${name}"`)
    .join(', ');
  const more = all.length > MAX_NAMES ? ` and ${all.length - MAX_NAMES} more` : '';
  return badRequest(`Invalid selectedOutputs: "${selector}" names no block. There are ${names}${more}.`);
}

/** Finds blocks for selectors. Of several blocks with the same name, the first one is used. */
interface BlockIndex {
  /** Positions by id. */
  positions: ReadonlyMap<string, number>;
  ids: readonly string[];
  names: readonly string[];
  byName: ReadonlyMap<string, string>;
  longestId: number;
}

function indexOf(blocks: readonly NamedBlock[]): BlockIndex {
  const ids = blocks.map(({ blockId }) => blockId);
  return {
    positions: new Map(ids.map((id, position) => [id, position])),
    ids,
    names: blocks.map(({ name }) => name),
    byName: new Map(blocks.toReversed().map(({ blockId, name }) => [normalizeName(name), blockId])),
    longestId: ids.reduce((longest, id) => Math.max(longest, id.length), 0),
  };
}

/** Resolves `block.path` by name or id, `id_path`, and a block alone. */
function resolve(selector: string, known: BlockIndex): Selected | undefined {
  const [head = '', ...path] = selector.split('.');
  const byHead = known.positions.has(head) ? head : known.byName.get(normalizeName(head));
  if (byHead !== undefined) return { selector, blockId: byHead, path };
  const byId = blockIdBefore(selector, known);
  if (byId === undefined) return undefined;
  return { selector, blockId: byId, path: selector.slice(byId.length + 1).split('.') };
}

/** Returns the first block whose id is the selector up to one of its underscores. */
function blockIdBefore(selector: string, { positions, ids, longestId }: BlockIndex): string | undefined {
  let first: number | undefined;
  for (let at = selector.indexOf('_'); at >= 0 && at <= longestId; at = selector.indexOf('_', at + 1)) {
    const position = positions.get(selector.slice(0, at));
    if (position !== undefined && position < (first ?? Infinity)) first = position;
  }
  return first === undefined ? undefined : ids[first];
}

/**
 * Returns the selected values by selector. The last execution of a block, and the last call of a workflow, counts. A block
 * that did not run, and a path that does not exist, has no entry.
 */
export async function selectedValues(
  engine: Engine,
  runId: string,
  selected: readonly Selected[],
): Promise<{ [selector: string]: Json }> {
  const own = lastByBlock(await engine.getLogs(runId));
  const wanted = new Set(selected.flatMap(({ workflowId = [] }) => workflowId));
  const children = new Map(
    [...(await logsOfChildren(engine, runId, wanted))].map(([id, logs]) => [id, lastByBlock(logs)]),
  );
  const found: [string, Json][] = [];
  for (const { selector, blockId, path, workflowId } of selected) {
    const logs = workflowId === undefined ? own : children.get(workflowId);
    const log = logs?.get(blockId);
    const value = log && valueAt(log.output, path);
    if (value !== undefined) found.push([selector, value]);
  }
  return Object.fromEntries(found);
}

/** Returns the last completed log of each block. */
function lastByBlock(logs: LogDetail[]): Map<string, LogDetail> {
  return new Map(logs.filter(({ status }) => status === 'completed').map((log) => [log.blockId, log]));
}

/** Maximum number of child runs that are searched for selected values. */
const MAX_CHILDREN = 1000;

/** Returns, by workflow, the logs of the run's children and their children. */
async function logsOfChildren(
  engine: Engine,
  runId: string,
  workflowIds: ReadonlySet<string>,
): Promise<Map<string, LogDetail[]>> {
  const logs = new Map([...workflowIds].map((id): [string, LogDetail[]] => [id, []]));
  const callers = workflowIds.size === 0 ? [] : [runId];
  for (const caller of callers) {
    for (const child of await engine.childRuns(caller)) {
      if (callers.length > MAX_CHILDREN) return logs;
      callers.push(child.runId);
      const wanted = logs.get(child.workflowId);
      for (const log of wanted ? await engine.getLogs(child.runId) : []) wanted?.push(log);
    }
  }
  return logs;
}

/** Returns the value at the path; undefined when the path does not exist. */
export function valueAt(value: Json, path: readonly string[]): Json | undefined {
  let at: Json | undefined = value;
  for (const step of path) {
    if (Array.isArray(at)) at = at[Number(step)];
    else at = isJsonObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  }
  return at;
}
