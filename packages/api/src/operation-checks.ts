import type { Area } from './area.ts';
import type { AnyOperation } from './operation.ts';
import type { Access } from './ports.ts';

/**
 * Throws a TypeError for areas or operations that occur twice, and for an operation that contradicts itself or needs a
 * port that is missing.
 */
export function requireValidOperations(areas: readonly Area[], access: Access): void {
  requireUnique(
    'name',
    areas.map(({ name }) => name),
  );
  const operations = areas.flatMap((area) => Object.entries(area.operations));
  requireUnique(
    'function',
    operations.map(([name]) => name),
  );
  requireUnique(
    'operation',
    operations.map(([, { id }]) => id),
  );
  requireUnique(
    'route',
    operations.map(([, { method, path }]) => `${method} ${routeOf(path)}`),
  );
  for (const [, operation] of operations) {
    requireConsistent(operation);
    if (operation.resource.kind === 'organization' && !access.checkOrganization)
      throw new TypeError(
        `The operation ${operation.id} acts on an organization: the port \`access\` needs \`checkOrganization\`.`,
      );
  }
}

function routeOf(path: string): string {
  return path.replaceAll(/\{[^}]*\}/g, '{}');
}

function requireUnique(kind: string, names: readonly string[]): void {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw new TypeError(`Two areas have the ${kind} "${duplicate}".`);
}

function requireConsistent(operation: AnyOperation): void {
  const { principals, resource, role, audit, method } = operation;
  const problems: readonly (readonly [isProblem: boolean, message: string])[] = [
    [principals.length === 0, 'no principal may call it'],
    [
      principals.includes('anonymous') && resource.kind !== 'workflow',
      'unauthenticated callers can only act on a workflow',
    ],
    [principals.includes('workspace') && role === 'admin', 'a workspace key can never have the role admin'],
    [
      principals.includes('workspace') && resource.kind === 'organization',
      'a workspace key has no access to organizations',
    ],
    [audit !== undefined && audit.actions.length === 0, 'it has an audit without an action'],
    [method === 'GET' && operation.body !== undefined, 'GET has no body'],
  ];
  const problem = problems.find(([isProblem]) => isProblem);
  if (problem) throw new TypeError(`The operation ${operation.id} contradicts itself: ${problem[1]}.`);
}
