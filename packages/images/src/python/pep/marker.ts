import { canonicalName } from './names.ts';
import { satisfiesSpecifier, isVersion, parseSpecifier } from './version.ts';

/** A parsed environment marker (PEP 508). */
export type Marker = Combination | Comparison;

interface Combination {
  readonly kind: 'and' | 'or';
  readonly left: Marker;
  readonly right: Marker;
}

interface Comparison {
  readonly kind: 'compare';
  readonly operator: string;
  readonly left: Operand;
  readonly right: Operand;
}

interface Operand {
  readonly kind: 'variable' | 'text';
  readonly value: string;
}

const TOKEN =
  /\s*(?:(\()|(\))|('[^']*'|"[^"]*")|(not\s+in\b)|(===|~=|==|!=|<=|>=|<|>)|([A-Za-z_][A-Za-z0-9_.]*))/y;

const VARIABLES = new Set([
  'os_name',
  'sys_platform',
  'platform_machine',
  'platform_python_implementation',
  'platform_release',
  'platform_system',
  'platform_version',
  'python_version',
  'python_full_version',
  'implementation_name',
  'implementation_version',
  'extra',
]);

/** Obsolete spellings that files on PyPI still use. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  'os.name': 'os_name',
  'sys.platform': 'sys_platform',
  'platform.machine': 'platform_machine',
  'platform.version': 'platform_version',
  'platform.python_implementation': 'platform_python_implementation',
  python_implementation: 'platform_python_implementation',
};

const COMPARISON_OPERATORS = new Set(['===', '~=', '==', '!=', '<=', '>=', '<', '>', 'in', 'not in']);

/** Parses a marker; undefined if invalid. */
export function parseMarker(text: string): Marker | undefined {
  const tokens = tokensOf(text);
  if (!tokens) return undefined;
  const parser = new Parser(tokens);
  const marker = parser.parseExpression();
  return parser.isAtEnd() ? marker : undefined;
}

function tokensOf(text: string): string[] | undefined {
  const tokens: string[] = [];
  let position = 0;
  while (position < text.trimEnd().length) {
    TOKEN.lastIndex = position;
    const match = TOKEN.exec(text);
    if (!match) return undefined;
    tokens.push(match[0].trim().replace(/^not\s+in$/, 'not in'));
    position = TOKEN.lastIndex;
  }
  return tokens;
}

class Parser {
  readonly #tokens: readonly string[];
  #position = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  isAtEnd(): boolean {
    return this.#position === this.#tokens.length;
  }

  parseExpression(): Marker | undefined {
    return this.#parseChain('or', () => this.#parseChain('and', () => this.#parseAtom()));
  }

  #parseChain(kind: 'and' | 'or', parseOperand: () => Marker | undefined): Marker | undefined {
    let left = parseOperand();
    while (left && this.#tokens[this.#position] === kind) {
      this.#position += 1;
      const right = parseOperand();
      left = right && { kind, left, right };
    }
    return left;
  }

  #parseAtom(): Marker | undefined {
    if (this.#tokens[this.#position] === '(') {
      this.#position += 1;
      const inner = this.parseExpression();
      return this.#next() === ')' ? inner : undefined;
    }
    const left = operandOf(this.#next());
    const operator = this.#next();
    const right = operandOf(this.#next());
    if (!left || !right || operator === undefined || !COMPARISON_OPERATORS.has(operator)) return undefined;
    return { kind: 'compare', operator, left, right };
  }

  #next(): string | undefined {
    const token = this.#tokens[this.#position];
    this.#position += 1;
    return token;
  }
}

function operandOf(token: string | undefined): Operand | undefined {
  if (token === undefined) return undefined;
  if (/^['"]/.test(token)) return { kind: 'text', value: token.slice(1, -1) };
  const name = OLD_NAMES[token] ?? token;
  return VARIABLES.has(name) ? { kind: 'variable', value: name } : undefined;
}

/** Returns whether the marker is true for the given values. Variables without a value are empty. */
export function evaluateMarker(marker: Marker, values: Readonly<Record<string, string>>): boolean {
  if (marker.kind !== 'compare') {
    const left = evaluateMarker(marker.left, values);
    return marker.kind === 'and'
      ? left && evaluateMarker(marker.right, values)
      : left || evaluateMarker(marker.right, values);
  }
  const { left, right } = marker;
  const isExtra = [left, right].some(({ kind, value }) => kind === 'variable' && value === 'extra');
  const operandValue = ({ kind, value }: Operand): string => {
    const text = kind === 'text' ? value : (values[value] ?? '');
    return isExtra ? canonicalName(text) : text;
  };
  return evaluateComparison(operandValue(left), marker.operator, operandValue(right));
}

/**
 * Returns whether a comparison is true. Versions are ordered if both sides are versions; other strings support only
 * equality and containment.
 */
function evaluateComparison(left: string, operator: string, right: string): boolean {
  if (operator === 'in') return right.includes(left);
  if (operator === 'not in') return !right.includes(left);
  const specifier = isVersion(left) ? parseSpecifier(operator + right) : undefined;
  if (specifier) return satisfiesSpecifier(left, specifier);
  return operator === '!=' ? left !== right : operator.startsWith('==') && left === right;
}
