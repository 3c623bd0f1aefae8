import { parseSync } from 'oxc-parser';
import { walk } from './sources.ts';

const CODE_PATTERN = /^[A-Z]+(_[A-Z]+)*$/;

/** Codes of Node, of the system, and of the status of a span. They are not codes of Heddle. */
const FOREIGN_CODE = /^(E[A-Z]+|ERR_.*|OK|UNSET)$/;

/** Returns the code of a literal, if it is a code of Heddle. */
export function codeOf(node: unknown): string | undefined {
  const { type, value } = (node ?? {}) as { type?: string; value?: unknown };
  return type === 'Literal' &&
    typeof value === 'string' &&
    CODE_PATTERN.test(value) &&
    !FOREIGN_CODE.test(value)
    ? value
    : undefined;
}

/** Returns the codes in the type `name`, a union of string literals. */
export function codesInUnion(text: string, name: string): string[] {
  const codes: string[] = [];
  walk(parseSync('x.ts', text).program.body, (node) => {
    if (node['type'] !== 'TSTypeAliasDeclaration' || (node['id'] as { name: string }).name !== name) return;
    walk(node['typeAnnotation'], (innerNode) => {
      const code = innerNode['type'] === 'TSLiteralType' ? codeOf(innerNode['literal']) : undefined;
      if (code !== undefined) codes.push(code);
    });
  });
  return codes;
}
