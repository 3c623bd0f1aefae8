import type { Json } from '@heddle/core';
import { isJsonObject, normalizeName } from '@heddle/core/blocks';
import type { Engine } from '@heddle/engine';
import { badRequest } from '../../errors.ts';
import type { ApiError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { WorkflowRow } from '../../store/schema.ts';
import { readGraph, textOr } from '../workflows/graph.ts';
import type { Graph } from '../workflows/graph.ts';
import { activeVersion } from '../workflows/views.ts';

/** A selector that was understood: the block, and the path into its output. */
export interface Selected {
  selector: string;
  blockId: string;
  path: readonly string[];
  /** The block is one of this workflow, in the runs of it that the run has called; absent: of the run's own workflow. */
  workflowId?: string;
}

/** A block by its id and its name. */
interface Named {
  id: string;
  name: string;
}

/**
 * Returns the selectors as blocks and paths. `blocks` are those of the run's workflow; a selector that begins with the id
 * of a workflow which that one can call is about its live version. Throws 400 for a selector that names no block.
 */
export async function resolveSelectors(
  services: Pick<Services, 'store'>,
  selectors: readonly string[],
  of: { workflow: WorkflowRow; blocks: readonly Named[] },
): Promise<Selected[]> {
  const known = indexOf(of.blocks);
  const children = new Map<string, Known | undefined>();
  const found: Selected[] = [];
  for (const selector of selectors) {
    const selected =
      resolve(selector, known) ?? (await inChild(services, selector, { of: of.workflow, children }));
    if (!selected) throw unknownBlock(selector, known);
    found.push(selected);
  }
  return found;
}

/** `children`: what is known of workflows that other selectors named. */
async function inChild(
  services: Pick<Services, 'store'>,
  selector: string,
  { of, children }: { of: WorkflowRow; children: Map<string, Known | undefined> },
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

/** The blocks of the live version of a workflow that `caller` can call. */
async function childOf(
  { store }: Pick<Services, 'store'>,
  caller: WorkflowRow,
  workflowId: string,
): Promise<Known | undefined> {
  if ((await store.workflows.resolveChild(caller.id, workflowId))?.workflow !== workflowId) return undefined;
  const child = await store.workflows.find(workflowId);
  const version = child && (await activeVersion({ store }, child));
  return version && indexOf(blocksOf(readGraph(version.state)));
}

/** Most names of blocks that a refusal lists. */
const MOST_NAMES = 50;

function unknownBlock(selector: string, { names: all }: Known): ApiError {
  const names = all
    .slice(0, MOST_NAMES)
    .map((name) => `"${name}"`)
    .join(', ');
  const more = all.length > MOST_NAMES ? ` and ${all.length - MOST_NAMES} more` : '';
  return badRequest(`Invalid selectedOutputs: "${selector}" names no block. There are ${names}${more}.`);
}

/** Blocks as selectors find them. Of equal names the first block counts. */
interface Known {
  /** Positions by id. */
  positions: ReadonlyMap<string, number>;
  ids: readonly string[];
  names: readonly string[];
  byName: ReadonlyMap<string, string>;
  longestId: number;
}

function indexOf(blocks: readonly Named[]): Known {
  const ids = blocks.map(({ id }) => id);
  return {
    positions: new Map(ids.map((id, position) => [id, position])),
    ids,
    names: blocks.map(({ name }) => name),
    byName: new Map(blocks.toReversed().map(({ id, name }) => [normalizeName(name), id])),
    longestId: ids.reduce((longest, id) => Math.max(longest, id.length), 0),
  };
}

export function blocksOf(graph: Graph): Named[] {
  return Object.entries(graph.blocks).map(([id, block]) => ({ id, name: textOr(block['name'], id) }));
}

/** `block.path` by name or id, `id_path`, or a block alone. */
function resolve(selector: string, known: Known): Selected | undefined {
  const [head = '', ...path] = selector.split('.');
  const byHead = known.positions.has(head) ? head : known.byName.get(normalizeName(head));
  if (byHead !== undefined) return { selector, blockId: byHead, path };
  const byId = prefixOf(selector, known);
  if (byId === undefined) return undefined;
  return { selector, blockId: byId, path: selector.slice(byId.length + 1).split('.') };
}

/** The first block whose id stands before an underscore of the selector. */
function prefixOf(selector: string, { positions, ids, longestId }: Known): string | undefined {
  let first: number | undefined;
  for (let at = selector.indexOf('_'); at >= 0 && at <= longestId; at = selector.indexOf('_', at + 1)) {
    const position = positions.get(selector.slice(0, at));
    if (position !== undefined && position < (first ?? Infinity)) first = position;
  }
  return first === undefined ? undefined : ids[first];
}

/**
 * Returns the values that were selected, by selector: of a block that ran several times, and of a workflow that was
 * called several times, the last one. What did not run, or is not there, has no entry.
 */
export async function selectedValues(
  engine: Engine,
  runId: string,
  selected: readonly Selected[],
): Promise<{ [selector: string]: Json }> {
  const own = lastByBlock(await engine.getLogs(runId));
  const wanted = new Set(selected.flatMap(({ workflowId = [] }) => workflowId));
  const called = new Map(
    [...(await logsOfCalled(engine, runId, wanted))].map(([id, logs]) => [id, lastByBlock(logs)]),
  );
  const found: [string, Json][] = [];
  for (const { selector, blockId, path, workflowId } of selected) {
    const logs = workflowId === undefined ? own : called.get(workflowId);
    const log = logs?.get(blockId);
    const value = log && valueAt(log.output, path);
    if (value !== undefined) found.push([selector, value]);
  }
  return Object.fromEntries(found);
}

type Logs = Awaited<ReturnType<Engine['getLogs']>>;

/** The last completed log of each block. */
function lastByBlock(logs: Logs): Map<string, Logs[number]> {
  return new Map(logs.filter(({ status }) => status === 'completed').map((log) => [log.blockId, log]));
}

/** Most runs that are looked through for what was selected of called workflows. */
const MOST_CALLED = 1000;

/** The logs of the runs of those workflows that the run has called, directly or not, by workflow. */
async function logsOfCalled(
  engine: Engine,
  runId: string,
  workflowIds: ReadonlySet<string>,
): Promise<Map<string, Logs>> {
  const logs = new Map([...workflowIds].map((id): [string, Logs] => [id, []]));
  const callers = workflowIds.size === 0 ? [] : [runId];
  for (const caller of callers) {
    for (const child of await engine.childRuns(caller)) {
      if (callers.length > MOST_CALLED) return logs;
      callers.push(child.runId);
      const wanted = logs.get(child.workflowId);
      for (const log of wanted ? await engine.getLogs(child.runId) : []) wanted?.push(log);
    }
  }
  return logs;
}

/** The value at the path, or undefined. */
export function valueAt(value: Json, path: readonly string[]): Json | undefined {
  let at: Json | undefined = value;
  for (const step of path) {
    if (Array.isArray(at)) at = at[Number(step)];
    else at = isJsonObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  }
  return at;
}
