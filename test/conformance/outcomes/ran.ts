import type { Engine } from '@heddle/engine';
import type { RanBlock } from './cases.ts';
import { difference, faultDifference } from './compare.ts';

type Log = Awaited<ReturnType<Engine['getLogs']>>[number];

/** An execution of a block, expected or actual, in one form. */
interface Ran {
  name: string;
  /** Kinds and numbers of the containers around the block. */
  scope: string;
  inParallel: boolean;
  container: boolean;
}

/** Returns how the executed blocks differ from the expected blocks in names, order or outcome. */
export function ranDifference(
  expected: readonly RanBlock[],
  logs: readonly Log[],
  ordered: boolean,
): string | undefined {
  const actual = logs.toSorted((a, b) => a.executionOrder - b.executionOrder);
  const wanted = expected.map(expectedRan);
  const got = actual.map(actualRan);
  const names = (runs: readonly Ran[]): string => runs.map(({ name, scope }) => `${name}${scope}`).join(' ');
  if (sorted(wanted) !== sorted(got)) return `blocks: expected ${names(wanted)}; got ${names(got)}`;
  if (ordered) {
    for (const group of groups(wanted)) {
      const [one, other] = [wanted, got].map((runs) => names(runs.filter((run) => groupOf(run) === group)));
      if (one !== other) return `order: expected ${one}; got ${other}`;
    }
  }
  return contents(expected, actual);
}

function expectedRan(block: RanBlock): Ran {
  const around = block.in ?? [];
  const container = block.type === 'loop' || block.type === 'parallel';
  return {
    name: block.name,
    scope: container ? '' : around.map(({ kind, i }) => `.${kind[0] ?? ''}${i ?? '?'}`).join(''),
    inParallel: around.some(({ kind }) => kind === 'parallel'),
    container,
  };
}

function actualRan(log: Log): Ran {
  const around = [...log.parents, ...(log.container ? [log.container] : [])];
  const container = log.blockType === 'loop' || log.blockType === 'parallel';
  return {
    name: log.blockName,
    scope: container ? '' : around.map(({ kind, index }) => `.${kind[0] ?? ''}${index}`).join(''),
    inParallel: around.some(({ kind }) => kind === 'parallel'),
    container,
  };
}

function sorted(runs: readonly Ran[]): string {
  return runs
    .map(({ name, scope }) => `${name}${scope}`)
    .toSorted()
    .join(' ');
}

/**
 * Returns the group of an entry: the order is fixed outside of parallels, and within one branch. A container's own
 * entry has no order inside a parallel.
 */
function groupOf(run: Ran): string {
  if (run.container) return 'container';
  return run.inParallel ? run.scope : '';
}

function groups(runs: readonly Ran[]): Set<string> {
  return new Set(runs.map(groupOf));
}

function contents(expected: readonly RanBlock[], logs: readonly Log[]): string | undefined {
  const left = [...logs];
  for (const block of expected) {
    const { name, scope } = expectedRan(block);
    const faults: string[] = [];
    const index = left.findIndex((log) => {
      const ran = actualRan(log);
      if (ran.name !== name || ran.scope !== scope) return false;
      const fault = contentDifference(block, log);
      if (fault !== undefined) faults.push(fault);
      return fault === undefined;
    });
    if (index < 0) return `${name}${scope}: ${faults[0] ?? 'did not run'}`;
    left.splice(index, 1);
  }
  return undefined;
}

function contentDifference(block: RanBlock, log: Log): string | undefined {
  if (block.success !== (log.status === 'completed'))
    return `expected success ${block.success}, got ${log.status}`;
  if (!block.success) {
    if ((block.errorHandled ?? false) !== log.errorHandled) return `errorHandled is ${log.errorHandled}`;
    const fault = faultDifference(block.error, log.error?.message, 'error');
    if (fault !== undefined) return fault;
  }
  if ((block.tries ?? 1) !== log.tries) return `expected ${block.tries ?? 1} tries, got ${log.tries}`;
  return block.success || block.errorHandled ? difference(block.output, log.output) : undefined;
}
