import { own } from '../json.ts';
import type { Subflow } from '../machine/skeleton.ts';
import { compileExpression } from '../refs/code.ts';
import { referencesIn } from '../refs/inventory.ts';
import type { ExpressionTemplate } from '../refs/template.ts';
import type { Block } from '../schema/workflow.ts';
import { readBatchSize } from './batch-size.ts';
import { diagnostic } from './codes.ts';
import { readCollection } from './collection.ts';
import type { Compilation } from './compilation.ts';
import { containerType } from './container-type.ts';
import { compareStored, containerValue } from './container-value.ts';
import { readCount } from './count.ts';
import type { CollectionSource, ContainerConfig, CountSource } from './plan.ts';
import { checkExpression } from './syntax.ts';

const COMPARED: { [kind in ContainerConfig['kind']]: readonly string[] } = {
  for: ['loopType', 'count'],
  forEach: ['loopType', 'collection'],
  while: ['loopType', 'whileCondition'],
  doWhile: ['loopType', 'doWhileCondition'],
  parallelCount: ['parallelType', 'count'],
  parallelCollection: ['parallelType', 'collection'],
};

export interface ReadContainer {
  config: ContainerConfig;
  /** What the machine needs beside the body. */
  subflow: Omit<Subflow, 'body'>;
}

/** How a loop or a parallel gets its turns or branches; undefined when what it says is an error. */
export function readContainer(compilation: Compilation, block: Block): ReadContainer | undefined {
  const kind = containerType(compilation, block);
  if (kind === undefined) return undefined;
  const config = readConfig(compilation, block, kind);
  if (!config) return undefined;
  const { maxLoopTurns, maxParallelBranches } = compilation.limits;
  const limit = block.type === 'loop' ? maxLoopTurns : maxParallelBranches;
  const count = staticCount(config);
  if (count !== undefined && count > limit) overLimit(compilation, block, { count, limit });
  const subflow = { ...(count !== undefined && { count }), ...asksPerTurn(config), limit };
  if (block.type === 'loop') return { config, subflow };
  const collectErrors = own(block.container, 'onBranchError') === 'collect';
  const window = readBatchSize(compilation, block);
  return { config, subflow: { ...subflow, window, ...(collectErrors && { collectErrors }) } };
}

function asksPerTurn(config: ContainerConfig): Pick<Subflow, 'perTurn' | 'firstFree'> {
  if (config.kind === 'doWhile') return { perTurn: true, firstFree: true };
  return config.kind === 'while' && config.condition ? { perTurn: true } : {};
}

function readConfig(
  compilation: Compilation,
  block: Block,
  kind: ContainerConfig['kind'],
): ContainerConfig | undefined {
  compareStored(compilation, block, COMPARED[kind]);
  switch (kind) {
    case 'for':
    case 'parallelCount': {
      const { value, site } = containerValue(compilation, block, 'count');
      const count = readCount(compilation, site, value);
      return count && { kind, count };
    }
    case 'forEach':
    case 'parallelCollection': {
      const { value, site } = containerValue(compilation, block, 'collection');
      return { kind, collection: readCollection(compilation, site, value) };
    }
    case 'while':
      return { kind, condition: readCondition(compilation, block, 'whileCondition') };
    case 'doWhile': {
      const condition = readCondition(compilation, block, 'doWhileCondition');
      if (condition) return { kind, condition };
      const { value, site } = containerValue(compilation, block, 'count');
      const count = readCount(compilation, site, value);
      return count && { kind: 'for', count };
    }
  }
}

function readCondition(
  compilation: Compilation,
  block: Block,
  key: 'whileCondition' | 'doWhileCondition',
): ExpressionTemplate | null {
  const { value, site } = containerValue(compilation, block, key);
  const text = value == null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  if (text.trim() === '') {
    compilation.found.push(
      diagnostic('LOOP_CONDITION_MISSING', {
        blockId: block.id,
        path: site.path,
        message: `"${block.name}" has no condition; ${key === 'whileCondition' ? 'it runs no turn' : 'it runs as often as its count says'}.`,
        hint: 'Give it a condition.',
      }),
    );
    return null;
  }
  const { expression, findings } = compileExpression(text, compilation.context(site, 'condition'), 'loop');
  compilation.report(site, findings, 'expression');
  checkExpression(compilation, site, { expression, findings, what: 'The condition' });
  compilation.see(site, referencesIn(expression), 'condition');
  return expression;
}

function staticCount(config: ContainerConfig): number | undefined {
  const source: CountSource | CollectionSource | undefined =
    'count' in config ? config.count : 'collection' in config ? config.collection : undefined;
  if (source === undefined) return config.kind === 'while' && config.condition === null ? 0 : undefined;
  if (!('static' in source)) return undefined;
  return typeof source.static === 'number' ? source.static : source.static.length;
}

function overLimit(
  compilation: Compilation,
  block: Block,
  { count, limit }: { count: number; limit: number },
): void {
  compilation.found.push(
    diagnostic('COUNT_OVER_LIMIT', {
      blockId: block.id,
      path: ['blocks', block.id, 'data'],
      message: `"${block.name}" has ${count} ${block.type === 'loop' ? 'turns' : 'branches'}, a run may have ${limit}; it fails when it is reached.`,
      hint: `Raise ${block.type === 'loop' ? 'maxLoopTurns' : 'maxParallelBranches'}, or do less at once.`,
    }),
  );
}
