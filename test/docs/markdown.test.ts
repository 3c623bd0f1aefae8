import { describe, expect, it } from 'vitest';
import { codeIn, examplesOf, codeBlocksOf, pages, tablesOf } from './markdown.ts';

const PAGE = [
  '# Page',
  '```json workflow refused',
  '{}',
  '```',
  'between',
  '```text diagnostics',
  'CODE',
  '```',
  '```sh run exit=2',
  'heddle',
  '```',
  '<!-- examples: text -->',
  '',
  '| a | b |',
  '|---|---|',
  '| `x \\| y` | ``a`b`` |',
  '',
].join('\n');

describe('the pages', () => {
  it('include those of docs and of packages', () => {
    expect(pages).toContain('docs/semantics.md');
    expect(pages).toContain('packages/sandbox/README.md');
    expect(pages.length).toBeGreaterThan(10);
  });
});

describe('a page', () => {
  it('is parsed into code blocks, with their attributes and lines', () => {
    const codeBlocks = codeBlocksOf('p.md', PAGE);
    expect(
      codeBlocks.map(({ location, language, attributes, text }) => [
        location,
        language,
        [...attributes],
        text,
      ]),
    ).toEqual([
      [
        'p.md:2',
        'json',
        [
          ['workflow', ''],
          ['refused', ''],
        ],
        '{}\n',
      ],
      ['p.md:6', 'text', [['diagnostics', '']], 'CODE\n'],
      [
        'p.md:9',
        'sh',
        [
          ['run', ''],
          ['exit', '2'],
        ],
        'heddle\n',
      ],
    ]);
  });

  it('has examples, each with the code blocks that belong to it', () => {
    const [example, ...others] = examplesOf(codeBlocksOf('p.md', PAGE), 'workflow', [
      'diagnostics',
      'output',
    ]);
    expect(others).toEqual([]);
    expect(example?.mainCodeBlock.line).toBe(2);
    expect([...(example?.relatedCodeBlocks.keys() ?? [])]).toEqual(['diagnostics']);
  });

  it('has named tables, whose cells may contain bars and backticks', () => {
    const [table] = tablesOf('p.md', PAGE);
    expect(table).toEqual({
      name: 'examples: text',
      rows: [{ location: 'p.md:16', cells: ['`x | y`', '``a`b``'] }],
    });
    expect(table?.rows[0]?.cells.map(codeIn)).toEqual(['x | y', 'a`b']);
    expect(codeIn('plain')).toBeUndefined();
  });
});
