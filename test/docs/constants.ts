import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { walk } from '../repo/sources.ts';
import { repository } from './markdown.ts';

type Node = Record<string, unknown>;

/** Returns the value of a numeric expression; undefined for other expressions. */
function evaluate(node: unknown): number | undefined {
  const { type, value, left, right, operator, expression } = node as Node;
  if (type === 'Literal') return typeof value === 'number' ? value : undefined;
  if (type === 'TSAsExpression' || type === 'ParenthesizedExpression') return evaluate(expression);
  if (type !== 'BinaryExpression') return undefined;
  const [a = Number.NaN, b = Number.NaN] = [evaluate(left), evaluate(right)];
  return operator === '*' ? a * b : operator === '**' ? a ** b : operator === '-' ? a - b : undefined;
}

/** Returns the initializer of a constant, or its default value in a destructuring pattern. */
function findInitializer(text: string, name: string): unknown {
  let value: unknown;
  walk(parseSync('x.ts', text).program.body, (node) => {
    const { type, id, init, left, right } = node;
    const target = (type === 'VariableDeclarator' ? id : type === 'AssignmentPattern' ? left : undefined) as
      | Node
      | undefined;
    if (target?.['name'] === name) value ??= type === 'VariableDeclarator' ? init : right;
  });
  return value;
}

function findProperty(object: unknown, key: string): unknown {
  const { type, expression, properties, elements } = (object ?? {}) as Node;
  if (type === 'TSAsExpression' || type === 'TSSatisfiesExpression') return findProperty(expression, key);
  if (type === 'ArrayExpression') return (elements as unknown[])[Number(key)];
  return (properties as Node[] | undefined)?.find((property) => (property['key'] as Node)['name'] === key)?.[
    'value'
  ];
}

/** Returns the number at a location in the sources, `file#NAME` or `file#NAME.key`; `file` is relative to packages. */
export function constantAt(
  location: string,
  read: (file: string) => string = readSource,
): number | undefined {
  const [file = '', path = ''] = location.split('#');
  const [name = '', ...keys] = path.split('.');
  const node = keys.reduce(findProperty, findInitializer(read(file), name));
  return node === undefined ? undefined : evaluate(node);
}

function readSource(file: string): string {
  return readFileSync(join(repository, 'packages', file), 'utf8');
}
