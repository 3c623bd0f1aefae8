import { isContainerType } from '../schema/read-block.ts';
import { conditionRows, routerRows } from './rows.ts';
import type { BlockWithFields } from './rows.ts';

/**
 * The port of an edge, in the plan's names: `source`, `error`, `condition-<row>`, or `router-<route or target>`.
 *
 * `unknown`: the block does not have the port. It acts as `source`, except on conditions and routers, where a removed
 * branch is never taken.
 */
export interface EdgePort {
  port: string;
  unknown?: boolean;
}

/** Determines the port of one edge of a block. `position` is the index of the edge among the block's edges. */
export type PortResolver = (port: string | undefined, position: number, target: string) => EdgePort;

/** Other names of the port `source`, from editors that draw it on each side of a block. */
const SIDE_PORT = /^source-(top|right|bottom|left)$/;

/**
 * Returns the port resolver for a block's edges. `extraPorts`: ports that a registered executor declares for the
 * block's type.
 */
export function createPortResolver(block: BlockWithFields, extraPorts: readonly string[] = []): PortResolver {
  if (block.type === 'condition') return createConditionPortResolver(block);
  if (block.type === 'router') {
    return (port, _, target) => ({ port: port === 'error' ? 'error' : `router-${target}` });
  }
  if (block.type === 'router_v2') return createRouterPortResolver(block);
  const declaredPorts = new Set(extraPorts);
  return (port) => {
    if (port !== undefined && declaredPorts.has(port)) return { port };
    if (isContainerType(block.type) && port === `${block.type}-end-source`) return { port: 'source' };
    return plainPort(port);
  };
}

function plainPort(port: string | undefined): EdgePort {
  if (port === undefined || port === 'source' || SIDE_PORT.test(port)) return { port: 'source' };
  return port === 'error' ? { port } : { port: 'source', unknown: true };
}

function createConditionPortResolver(block: BlockWithFields): PortResolver {
  const { rows, problem } = conditionRows(block);
  const ports = new Set(rows.map(({ id }) => `condition-${id}`));
  return (port, position) => {
    const row = rows[position];
    if (port === undefined && row) return { port: `condition-${row.id}` };
    if (port === undefined || !port.startsWith('condition-')) return plainPort(port);
    return ports.has(port) || problem !== undefined ? { port } : { port, unknown: true };
  };
}

function createRouterPortResolver(block: BlockWithFields): PortResolver {
  const { rows, problem } = routerRows(block);
  const ports = new Set(rows.map(({ id }) => `router-${id}`));
  return (port, position) => {
    if (port === 'error') return { port };
    if (port === undefined || !port.startsWith('router-')) {
      const row = rows[position];
      return row ? { port: `router-${row.id}` } : plainPort(port);
    }
    return ports.has(port) || problem !== undefined ? { port } : { port, unknown: true };
  };
}

/** A port that should have an edge. */
export interface BranchPort {
  /** Name of the port in edges. */
  handle: string;
  /** Name of the port in messages. */
  label: string;
}

/** Returns the branches of a condition or a router, and the start of a container. Other blocks have none. */
export function branchPorts(block: BlockWithFields): BranchPort[] {
  if (block.type === 'condition') {
    return conditionRows(block).rows.map(({ id, title }) => ({ handle: `condition-${id}`, label: title }));
  }
  if (block.type === 'router_v2') {
    return routerRows(block).rows.map(({ id, title }) => ({ handle: `router-${id}`, label: title }));
  }
  return isContainerType(block.type) ? [{ handle: `${block.type}-start-source`, label: 'Start' }] : [];
}
