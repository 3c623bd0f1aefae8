import { getOwn } from '../json.ts';
import type { Json } from '../json.ts';
import type { Subflow } from '../machine/skeleton.ts';
import { readCollection } from './collection.ts';
import type { Compilation } from './compilation.ts';
import { canonicalJson } from './content-hash.ts';
import { readCount } from './count.ts';
import { diagnostic } from './diagnostics.ts';
import type { CollectionSource, ContainerConfig, CountSource } from './plan.ts';
import { fieldLocation } from './field-location.ts';
import type { FieldLocation } from './field-location.ts';
import { checkExpression } from './syntax.ts';
import { compileExpression } from '../refs/code.ts';
import { referencesIn } from '../refs/template.ts';
import type { ExpressionTemplate } from '../refs/template.ts';
import { isBlank } from '../schema/known-keys.ts';
import type { Block } from '../schema/workflow.ts';

/** Keys whose values are compared with the stored map (`loops` or `parallels` of the file, which repeats them). */
const COMPARED_KEYS: { [kind in ContainerConfig['kind']]: readonly string[] } = {
  for: ['loopType', 'count'],
  forEach: ['loopType', 'collection'],
  while: ['loopType', 'whileCondition'],
  doWhile: ['loopType', 'doWhileCondition'],
  parallelCount: ['parallelType', 'count'],
  parallelCollection: ['parallelType', 'collection'],
};

interface CompiledContainer {
  config: ContainerConfig;
  /** The properties of the container that the machine reads, besides its body. */
  subflow: Omit<Subflow, 'body'>;
}

/** Returns the compiled settings of a loop or parallel; undefined if they have an error. */
export function readContainer(compilation: Compilation, block: Block): CompiledContainer | undefined {
  const kind = readContainerKind(compilation, block);
  if (kind === undefined) return undefined;
  const config = readConfig(compilation, block, kind);
  if (!config) return undefined;
  const { maxLoopTurns, maxParallelBranches } = compilation.limits;
  const limit = block.type === 'loop' ? maxLoopTurns : maxParallelBranches;
  const count = staticCount(config);
  if (count !== undefined && count > limit) reportOverLimit(compilation, block, { count, limit });
  const subflow = { ...(count !== undefined && { count }), ...iterationFlags(config), limit };
  if (block.type === 'loop') return { config, subflow };
  const collectErrors = getOwn(block.containerSettings, 'onBranchError') === 'collect';
  const window = readBatchSize(compilation, block);
  return { config, subflow: { ...subflow, window, ...(collectErrors && { collectErrors }) } };
}

function iterationFlags(config: ContainerConfig): Pick<Subflow, 'perTurn' | 'firstFree'> {
  if (config.kind === 'doWhile') return { perTurn: true, firstFree: true };
  return config.kind === 'while' && config.condition ? { perTurn: true } : {};
}

function readConfig(
  compilation: Compilation,
  block: Block,
  kind: ContainerConfig['kind'],
): ContainerConfig | undefined {
  reportStoredDifferences(compilation, block, COMPARED_KEYS[kind]);
  switch (kind) {
    case 'for':
    case 'parallelCount': {
      const { value, location } = containerValue(compilation, block, 'count');
      const count = readCount(compilation, location, value);
      return count && { kind, count };
    }
    case 'forEach':
    case 'parallelCollection': {
      const { value, location } = containerValue(compilation, block, 'collection');
      return { kind, collection: readCollection(compilation, location, value) };
    }
    case 'while':
      return { kind, condition: readCondition(compilation, block, 'whileCondition') };
    case 'doWhile': {
      const condition = readCondition(compilation, block, 'doWhileCondition');
      if (condition) return { kind, condition };
      const { value, location } = containerValue(compilation, block, 'count');
      const count = readCount(compilation, location, value);
      return count && { kind: 'for', count };
    }
  }
}

function readCondition(
  compilation: Compilation,
  block: Block,
  key: 'whileCondition' | 'doWhileCondition',
): ExpressionTemplate | null {
  const { value, location } = containerValue(compilation, block, key);
  const text = value == null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  if (text.trim() === '') {
    compilation.sink.push(
      diagnostic('LOOP_CONDITION_MISSING', {
        blockId: block.id,
        path: location.path,
        message: `"${block.name}" has no condition; ${key === 'whileCondition' ? 'it has no iterations' : 'its count decides how many iterations it has'}.`,
        hint: 'Add a condition.',
      }),
    );
    return null;
  }
  const { expression, findings } = compileExpression(
    text,
    compilation.context(location, 'condition'),
    'loop',
  );
  compilation.report(location, findings, 'expression');
  checkExpression(compilation, location, { expression, findings, subject: 'The condition' });
  compilation.addReferences(location, referencesIn(expression), 'condition');
  return expression;
}

function staticCount(config: ContainerConfig): number | undefined {
  const source: CountSource | CollectionSource | undefined =
    'count' in config ? config.count : 'collection' in config ? config.collection : undefined;
  if (source === undefined) return config.kind === 'while' && config.condition === null ? 0 : undefined;
  if (!('static' in source)) return undefined;
  return typeof source.static === 'number' ? source.static : source.static.length;
}

function reportOverLimit(
  compilation: Compilation,
  block: Block,
  { count, limit }: { count: number; limit: number },
): void {
  compilation.sink.push(
    diagnostic('COUNT_OVER_LIMIT', {
      blockId: block.id,
      path: ['blocks', block.id, 'data'],
      message: `"${block.name}" has ${count} ${block.type === 'loop' ? 'iterations' : 'branches'}, more than the limit of ${limit}; the ${block.type} fails when the run reaches it.`,
      hint: `Raise ${block.type === 'loop' ? 'maxLoopTurns' : 'maxParallelBranches'}, or reduce the number.`,
    }),
  );
}

const LOOP_TYPES = ['for', 'forEach', 'while', 'doWhile'] as const;

/** Returns the kind of a container, by default `for` or `parallelCount`; undefined for an unknown loop type. */
export function readContainerKind(
  compilation: Compilation,
  block: Block,
): ContainerConfig['kind'] | undefined {
  return block.type === 'loop' ? readLoopKind(compilation, block) : readParallelKind(compilation, block);
}

function readLoopKind(compilation: Compilation, block: Block): ContainerConfig['kind'] | undefined {
  const value = nonEmptyValue(compilation, block, 'loopType');
  if (value === undefined) return 'for';
  const type = LOOP_TYPES.find((loopType) => loopType === value);
  if (type) return type;
  compilation.sink.push(
    diagnostic('LOOP_TYPE_UNKNOWN', {
      blockId: block.id,
      path: ['blocks', block.id, 'data', 'loopType'],
      message: `The loop "${block.name}" has the type ${JSON.stringify(value)}, which does not exist.`,
      hint: `Use one of ${LOOP_TYPES.join(', ')}.`,
    }),
  );
  return undefined;
}

function readParallelKind(compilation: Compilation, block: Block): ContainerConfig['kind'] {
  const value = nonEmptyValue(compilation, block, 'parallelType');
  if (value === undefined || value === 'count') return 'parallelCount';
  if (value !== 'collection') {
    compilation.sink.push(
      diagnostic('PARALLEL_TYPE_UNKNOWN', {
        blockId: block.id,
        path: ['blocks', block.id, 'data', 'parallelType'],
        message: `The parallel "${block.name}" has the type ${JSON.stringify(value)}, which does not exist; it runs over its collection.`,
        hint: 'Use count or collection.',
      }),
    );
  }
  return 'parallelCollection';
}

function nonEmptyValue(compilation: Compilation, block: Block, key: string): Json | undefined {
  const { value } = containerValue(compilation, block, key);
  return value === '' || value === null ? undefined : value;
}

/**
 * Returns the value of `key` of a container and its location: from the block's data, else its fields, else the stored
 * map.
 */
export function containerValue(
  compilation: Compilation,
  block: Block,
  key: string,
): { value: Json | undefined; location: FieldLocation } {
  const data = getOwn(block.containerSettings, key);
  const dataLocation = { block, path: ['blocks', block.id, 'data', key] };
  if (!isBlank(data)) return { value: data, location: dataLocation };
  const field = getOwn(block.fields, key);
  if (!isBlank(field)) return { value: field, location: fieldLocation(block, key) };
  const storedContainer = compilation.storedContainerOf(block);
  const value = storedContainer && getOwn(storedContainer.settings, key);
  if (data === undefined && !isBlank(value))
    return { value, location: { block, path: [mapNameOf(block), block.id] } };
  return { value: data, location: dataLocation };
}

/** Reports the `keys` whose values differ between a container and its stored map. */
function reportStoredDifferences(compilation: Compilation, block: Block, keys: readonly string[]): void {
  const storedContainer = compilation.storedContainerOf(block);
  for (const key of keys) {
    const blockValue = getOwn(block.containerSettings, key);
    const storedValue = storedContainer && getOwn(storedContainer.settings, key);
    if (isBlank(blockValue) || isBlank(storedValue)) continue;
    if (canonicalJson(blockValue) === canonicalJson(storedValue)) continue;
    compilation.sink.push(
      diagnostic('CONTAINER_MAP_DIFFERS', {
        blockId: block.id,
        path: [mapNameOf(block), block.id],
        message: `The ${key} of "${block.name}" is ${JSON.stringify(blockValue)}, but its stored map has ${JSON.stringify(storedValue)}. The value of the block is used.`,
        hint: 'Remove the stored map: it is derived from the blocks.',
      }),
    );
  }
}

function mapNameOf(block: Block): string {
  return block.type === 'loop' ? 'loops' : 'parallels';
}

const DEFAULT_BATCH_SIZE = 20;

/**
 * Returns the maximum number of branches of a parallel that run at the same time: 1 to 20, or up to 1,000 in workflows
 * written for Heddle.
 */
function readBatchSize(compilation: Compilation, block: Block): number {
  const { value, location } = containerValue(compilation, block, 'batchSize');
  if (value == null) return DEFAULT_BATCH_SIZE;
  const maximum = compilation.workflow.dialect === 'heddle' ? 1000 : DEFAULT_BATCH_SIZE;
  const requestedSize = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
  const batchSize = Number.isNaN(requestedSize)
    ? DEFAULT_BATCH_SIZE
    : Math.min(maximum, Math.max(1, Math.floor(requestedSize)));
  if (batchSize !== requestedSize) {
    compilation.sink.push(
      diagnostic('BATCH_SIZE_CLAMPED', {
        blockId: block.id,
        path: location.path,
        message: `The batch size of "${block.name}" is ${JSON.stringify(value)}; ${batchSize} is used.`,
        hint: `Use a whole number from 1 to ${maximum}.`,
      }),
    );
  }
  return batchSize;
}
