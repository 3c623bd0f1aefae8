import fc from 'fast-check';
import type { Json } from '../../packages/core/src/json.ts';
import type { Lookup } from '../../packages/core/src/refs/lookup.ts';
import { buildNames } from '../../packages/core/src/refs/names.ts';
import type { TemplateContext } from '../../packages/core/src/refs/read-tag.ts';

const blocks = ['p', 'My Block', 'constructor', '__proto__'].map((name, index) => ({
  id: index === 0 ? 'p' : `b${index}`,
  name,
  type: 'function',
  enabled: true,
}));

/** A workflow with four blocks, two of them named like built-in properties, and a variable. */
export const context: TemplateContext = {
  names: buildNames(blocks, [{ id: 'v', name: 'v' }]),
  blockId: 'p',
  fieldPosition: 'ordinary',
};

/** Returns a lookup that resolves everything to `value`. There is one environment value, `K`. */
export function createLookup(value: Json): Lookup {
  return {
    block: () => ({ ran: true, output: value }),
    container: () => ({ index: 0, currentItem: value, items: [value] }),
    results: () => value,
    variable: () => value,
    env: (name) => (name === 'K' ? textOf(value) : undefined),
    describe: () => ({ name: 'p', type: 'function' }),
  };
}

/** Returns a string unchanged, and any other value as JSON. */
export function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Strings that end a literal, a comment, a line or a script, that would run as code, or that look like references. */
const FRAGMENTS = [
  ...[
    '"',
    "'",
    '`',
    '\\',
    '\\"',
    "\\'",
    '\\`',
    '${',
    '}',
    '${boom()}',
    '"+boom()+"',
    "'+boom()+'",
    '`+boom()+`',
  ],
  ...['\n', '\r', '\r\n', '\u2028', '\u2029', '\u0000', '\ufeff', '\u0085', '\\u0027', '\\x27', '\\\n'],
  ...['*/', '/*', '//', '<!--', '-->', '#', '*/boom()/*', '\nboom()\n', '\u2028boom()\u2028', ');boom();('],
  ...[
    '</script>',
    '<script>boom()</script>',
    ']]>',
    ']',
    ')',
    ';',
    ',boom(),',
    '/',
    '/+boom()+/',
    '[/',
    '?.',
    '=>',
  ],
  ...['\ud800', '\udc00', '\udc00\ud800', '\ud83d', '😀', '\u202e', 'e\u0301', '\u200b'],
  ...['<p>', '<p.x>', '<variable.v>', '{{K}}', '{{', '}}', '<loop.index>', '{{{{K}}}}', '<<p>>'],
  ...[
    '$&',
    '$1',
    '$$',
    '$`',
    "$'",
    '%s',
    '__heddle_0_',
    '__heddle_0',
    '__proto__',
    'constructor',
    'boom()',
    'a',
  ],
];

const text = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 8 }).map((parts) => parts.join('')),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
);
const leaf: fc.Arbitrary<Json> = fc.oneof(
  { weight: 6, arbitrary: text },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Json>(null, true, false, 0, -1, 1.5, 1e21, 5e-324, 'true', 'false', '7'),
  },
);

/** Values that try to break out of their position: strings of FRAGMENTS, alone, as keys or as items. */
export const hostileValue: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: leaf },
  { weight: 1, arbitrary: fc.array(leaf, { maxLength: 3 }) },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.tuple(fc.oneof(text, fc.constantFrom('x', '__proto__', 'toString')), leaf), { maxLength: 3 })
      .map((pairs) => Object.fromEntries(pairs) as Json),
  },
);

/** Strings from the author of a workflow, with unusual references and placeholders between FRAGMENTS. */
export const hostileText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 1, arbitrary: fc.constantFrom(...FRAGMENTS) },
      { weight: 2, arbitrary: reference() },
      { weight: 1, arbitrary: placeholder() },
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''));

function reference(): fc.Arbitrary<string> {
  const heads = ['p', 'P', 'My Block', 'myblock', 'constructor', '__proto__', 'toString', 'variable', 'loop'];
  const otherHeads = [
    'parallel',
    'start',
    'b1',
    'valueOf',
    '',
    ' p',
    'p ',
    'p\n',
    'no',
    'ſ',
    'İ',
    '7',
    'p>',
    '<p',
  ];
  const steps = ['x', 'v', '__proto__', 'constructor', 'prototype', 'toString', 'length', '0', '-1', '1e9'];
  const exoticSteps = [
    '[0]',
    '[-1]',
    '[',
    ']',
    '[]',
    '[0][0]',
    'x[0]',
    'x[__proto__]',
    '',
    ' ',
    'a b',
    '9'.repeat(40),
  ];
  const path = fc.array(
    fc.constantFrom(...steps, ...exoticSteps, 'index', 'currentItem', 'items', 'results'),
    {
      maxLength: 5,
    },
  );
  return fc
    .tuple(fc.constantFrom(...heads, ...otherHeads), path)
    .map(([head, names]) => `<${[head, ...names].join('.')}>`);
}

function placeholder(): fc.Arbitrary<string> {
  const names = ['K', ' K', 'K ', 'k', '', '__proto__', 'constructor', 'toString', '{K', 'K}', '<p>', 'K\n'];
  return fc.constantFrom(...names).map((name) => `{{${name}}}`);
}
