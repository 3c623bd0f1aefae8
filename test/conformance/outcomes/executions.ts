import type { Engine } from '@heddle/engine';
import type { RecordedBlock } from './cases.ts';
import { difference, errorDifference } from './compare.ts';

type Log = Awaited<ReturnType<Engine['getLogs']>>[number];

/** The properties that expected and actual executions of a block have in common. */
interface Execution {
  name: string;
  /** Path of the containers around the block, such as `.l0.p2` for a loop and a parallel; empty for a container. */
  scope: string;
  isInParallel: boolean;
  isContainer: boolean;
}

/** Returns the first difference between the expected and the actual executions in names, order or results. */
export function executionDifference(
  expected: readonly RecordedBlock[],
  logs: readonly Log[],
  isOrdered: boolean,
): string | undefined {
  const sortedLogs = logs.toSorted((a, b) => a.executionOrder - b.executionOrder);
  const expectedExecutions = expected.map(toExpectedExecution);
  const actualExecutions = sortedLogs.map(toActualExecution);
  const formatNames = (executions: readonly Execution[]): string =>
    executions.map(({ name, scope }) => `${name}${scope}`).join(' ');
  if (formatSortedNames(expectedExecutions) !== formatSortedNames(actualExecutions))
    return `blocks: expected ${formatNames(expectedExecutions)}; got ${formatNames(actualExecutions)}`;
  if (isOrdered) {
    for (const group of groupsOf(expectedExecutions)) {
      const [expectedOrder, actualOrder] = [expectedExecutions, actualExecutions].map((executions) =>
        formatNames(executions.filter((execution) => groupOf(execution) === group)),
      );
      if (expectedOrder !== actualOrder) return `order: expected ${expectedOrder}; got ${actualOrder}`;
    }
  }
  return resultDifference(expected, sortedLogs);
}

function toExpectedExecution(block: RecordedBlock): Execution {
  const containers = block.in ?? [];
  const isContainer = block.type === 'loop' || block.type === 'parallel';
  return {
    name: block.name,
    scope: isContainer ? '' : containers.map(({ kind, i }) => `.${kind[0] ?? ''}${i ?? '?'}`).join(''),
    isInParallel: containers.some(({ kind }) => kind === 'parallel'),
    isContainer,
  };
}

function toActualExecution(log: Log): Execution {
  const containers = [...log.parents, ...(log.container ? [log.container] : [])];
  const isContainer = log.blockType === 'loop' || log.blockType === 'parallel';
  return {
    name: log.blockName,
    scope: isContainer ? '' : containers.map(({ kind, index }) => `.${kind[0] ?? ''}${index}`).join(''),
    isInParallel: containers.some(({ kind }) => kind === 'parallel'),
    isContainer,
  };
}

function formatSortedNames(executions: readonly Execution[]): string {
  return executions
    .map(({ name, scope }) => `${name}${scope}`)
    .toSorted()
    .join(' ');
}

/**
 * Returns the group of executions whose order is compared: all containers, the blocks outside of parallels, or the
 * blocks of one branch.
 */
function groupOf(execution: Execution): string {
  if (execution.isContainer) return 'container';
  return execution.isInParallel ? execution.scope : '';
}

function groupsOf(executions: readonly Execution[]): Set<string> {
  return new Set(executions.map(groupOf));
}

function resultDifference(expected: readonly RecordedBlock[], logs: readonly Log[]): string | undefined {
  const remainingLogs = [...logs];
  for (const block of expected) {
    const { name, scope } = toExpectedExecution(block);
    const differences: string[] = [];
    const index = remainingLogs.findIndex((log) => {
      const execution = toActualExecution(log);
      if (execution.name !== name || execution.scope !== scope) return false;
      const foundDifference = blockDifference(block, log);
      if (foundDifference !== undefined) differences.push(foundDifference);
      return foundDifference === undefined;
    });
    if (index < 0) return `${name}${scope}: ${differences[0] ?? 'did not run'}`;
    remainingLogs.splice(index, 1);
  }
  return undefined;
}

function blockDifference(block: RecordedBlock, log: Log): string | undefined {
  if (block.success !== (log.status === 'completed'))
    return `expected success ${block.success}, got ${log.status}`;
  if (!block.success) {
    if ((block.errorHandled ?? false) !== log.errorHandled) return `errorHandled is ${log.errorHandled}`;
    const foundDifference = errorDifference(block.error, log.error?.message, 'error');
    if (foundDifference !== undefined) return foundDifference;
  }
  if ((block.tries ?? 1) !== log.tries) return `expected ${block.tries ?? 1} attempts, got ${log.tries}`;
  return block.success || block.errorHandled ? difference(block.output, log.output) : undefined;
}
