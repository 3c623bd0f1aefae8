import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pickByScale } from '../../../../test/support/scale.ts';
import { context, createLookup } from '../../../../test/support/one-block.ts';
import { bindCode, bindExpression } from './bind.ts';
import { compileCode, compileExpression } from './code.ts';
import { JavaScriptScanner } from './javascript.ts';
import { scanPython } from './python.ts';
import { resolveTemplate } from './resolve.ts';
import { type FieldKind, SiteFinder } from './sites.ts';
import { compileTemplate, compileText } from './text.ts';
import { CodeRewriter } from './code-rewriter.ts';

const propertyOptions = { numRuns: pickByScale(500, 50_000) };

const delimiters = [
  '<',
  '>',
  '<p>',
  '<p.x>',
  '<variable.v>',
  '<no.x>',
  '{{',
  '}}',
  '{{K}}',
  '{',
  '}',
  '${',
  '`',
  '"',
  "'",
  '"""',
  "'''",
  '\\',
];
const codePieces = [
  '/',
  '//',
  '/*',
  '*/',
  '#',
  '\n',
  ' ',
  'f"',
  'r"',
  ':',
  '(',
  ')',
  '[',
  ']',
  ',',
  '=>',
  '+',
  'return ',
  'a',
  '1',
  '\u2028',
  '\ud800',
];
const randomText = fc
  .array(fc.constantFrom(...delimiters, ...codePieces), { maxLength: 40 })
  .map((pieces) => pieces.join(''));

describe('any text', () => {
  it('is scanned without an error, and code keeps its number of lines', () => {
    fc.assert(
      fc.property(
        randomText,
        fc.constantFrom('javascript' as const, 'python' as const, 'shell' as const),
        (text, language) => {
          const { code } = compileCode(text, language, context);
          const boundCode = bindCode(code, createLookup(null));
          return boundCode.code.split('\n').length === text.split('\n').length;
        },
      ),
      propertyOptions,
    );
  });

  it('is compiled as an expression without an error', () => {
    fc.assert(
      fc.property(randomText, fc.constantFrom('condition' as const, 'loop' as const), (text, kind) => {
        const { expression } = compileExpression(text, context, kind);
        return (
          bindExpression(expression, createLookup(null)).code ===
          bindExpression(expression, createLookup(null)).code
        );
      }),
      propertyOptions,
    );
  });

  it('is unchanged if every reference is replaced by its own text', () => {
    fc.assert(
      fc.property(fc.oneof(randomText, fc.string({ unit: 'binary' })), (text) => {
        const finder = new SiteFinder(text, context, 'text');
        const parts = compileText(text, finder).map((part) =>
          typeof part === 'string' ? part : 'env' in part ? part.text : part.ref.text,
        );
        return parts.join('') === text;
      }),
      propertyOptions,
    );
  });

  it('without references and placeholders is a literal and resolves to itself', () => {
    const plainText = randomText.filter((text) => !/<p|<variable|\{\{/.test(text));
    fc.assert(
      fc.property(plainText, (text) => {
        const { template } = compileTemplate(text, context);
        expect(template).toEqual({ kind: 'literal', value: text });
        expect(resolveTemplate(template, createLookup('x'), 'text')).toBe(text);
        expect(compileCode(text, 'python', context).code.code).toBe(text);
        expect(compileCode(text, 'javascript', context).code.code).toBe(text);
      }),
      propertyOptions,
    );
  });
});

/** A string that counts the characters read. */
class CountingString extends String {
  reads = 0;

  override charAt(index: number): string {
    this.reads++;
    return super.charAt(index);
  }

  override charCodeAt(index: number): number {
    this.reads++;
    return super.charCodeAt(index);
  }

  override slice(from?: number, to?: number): string {
    const part = super.slice(from, to);
    this.reads += part.length;
    return part;
  }

  override indexOf(search: string, from = 0): number {
    const index = super.indexOf(search, from);
    this.reads += (index < 0 ? this.length : index) - from;
    return index;
  }

  override startsWith(search: string, index = 0): boolean {
    this.reads += search.length;
    return super.startsWith(search, index);
  }
}

type Scan = (finder: SiteFinder, rewriter: CodeRewriter) => void;

const scans: [string, FieldKind, Scan][] = [
  ['text', 'text', (finder) => void compileText(finder.text, finder)],
  ['JavaScript', 'function', (finder, rewriter) => new JavaScriptScanner(finder, rewriter, false).scan()],
  ['expressions', 'expression', (finder, rewriter) => new JavaScriptScanner(finder, rewriter, true).scan()],
  ['Python', 'function', scanPython],
];

describe.each(scans)('scanning %s', (_, kind, scan) => {
  const countReads = (text: string): number => {
    const countingString = new CountingString(text);
    const source = countingString as unknown as string;
    scan(new SiteFinder(source, context, kind), new CodeRewriter(source, undefined));
    return countingString.reads;
  };

  it.each(['<', '{{', '<p.x>'])(
    'reads every character of %j, repeated to 100,000 characters, a bounded number of times',
    (pattern) => {
      expect(countReads(pattern.repeat(100_000 / pattern.length))).toBeLessThan(2_000_000);
    },
  );

  it.each([
    '{{a',
    '<a',
    '<a.',
    '"<p.x',
    '`${',
    '/[',
    '/*',
    "'''",
    'f"{',
    'f"{x:',
    '<p.x> ',
    '"<p.x>"',
    '\\',
    '>',
    '((',
    'a<b.c&&',
    '__heddle_',
    '<no.x>',
    '// <a.',
    ' ',
    '/a/',
  ])('reads every character of %j, repeated, a bounded number of times', (pattern) => {
    const length = 10_000;
    const text = pattern.repeat(Math.ceil(length / pattern.length));
    expect(countReads(text)).toBeLessThan(20 * length);
  });
});
