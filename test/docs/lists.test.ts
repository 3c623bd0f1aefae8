import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TRIGGER_PRIORITY } from '../../packages/core/src/plan/types.ts';
import { CONTAINER_KEYS } from '../../packages/core/src/schema/workflow.ts';
import { builtInExecutors } from '../../packages/engine/src/executors/built-ins.ts';
import { migrate } from '../../packages/engine/src/store/sqlite/migrations.ts';
import { parseJson } from '../repo/sources.ts';
import { LAYERS } from '../repo/layers.ts';
import { pages, readPage, repository } from './markdown.ts';

const formatPage = readPage('docs/format.md');
const architecturePage = readPage('docs/architecture.md');

/** Returns the text under a heading, up to the next heading of the same or a higher level. */
function readSection(page: string, heading: string): string {
  const level = heading.indexOf(' ');
  const [, text = ''] = page.split(`\n${heading}\n`);
  return text.split(new RegExp(`^#{1,${level}} `, 'm'))[0] ?? '';
}

/** Returns the code spans in the first cell of each table row. */
function codeInFirstCells(text: string): string[] {
  return [...text.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code),
  );
}

describe('docs/format.md', () => {
  it('has a heading for each block type that the engine runs', () => {
    const headings = [...readSection(formatPage, '## Block types').matchAll(/^### (.+)$/gm)];
    const types = headings.flatMap(([, heading = '']) => heading.split(', '));
    expect(types.length).toBeGreaterThan(8);
    expect(types.sort()).toEqual(builtInExecutors.flatMap((executor) => executor.types).sort());
  });

  it('lists the triggers by their priority as the default start', () => {
    const listedTypes = [...readSection(formatPage, '## Triggers').matchAll(/^\d+\. `(\w+)`$/gm)].map(
      ([, type]) => type,
    );
    expect(listedTypes).toEqual([...TRIGGER_PRIORITY]);
  });

  it('has every key that configures a container', () => {
    const keys = codeInFirstCells(readSection(formatPage, '## Containers'));
    expect([...new Set(keys.filter((key) => key !== 'data'))].sort()).toEqual([...CONTAINER_KEYS].sort());
  });
});

describe('docs/architecture.md', () => {
  it('has the tables of the database', () => {
    const db = new DatabaseSync(':memory:');
    migrate(db, 'heddle.db');
    const rows = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const tables = rows.map(({ name }) => name as string);
    const listedTables = codeInFirstCells(readSection(architecturePage, '## Data folder')).filter(
      (name) => name !== 'heddle.db',
    );
    expect(tables.length).toBeGreaterThan(6);
    expect(listedTables.sort()).toEqual(tables.sort());
  });

  it('lists the packages in LAYERS (test/repo/layers.ts)', () => {
    const listedPackages = codeInFirstCells(readSection(architecturePage, '## Packages'))
      .filter((name) => name.startsWith('packages/'))
      .map((name) => name.slice('packages/'.length));
    expect(listedPackages.sort()).toEqual(Object.keys(LAYERS).sort());
  });

  it('has the entry points of the packages', () => {
    const entryPoints = Object.keys(LAYERS).flatMap((folder) => {
      const file = join(repository, 'packages', folder, 'package.json');
      const { name, exports = {} } = JSON.parse(readFileSync(file, 'utf8')) as {
        name: string;
        exports?: object;
      };
      const paths = Object.keys(exports).filter((path) => !path.endsWith('.json'));
      return name.startsWith('@') ? paths.map((path) => name + path.slice(1)) : [];
    });
    const listedEntryPoints = codeInFirstCells(readSection(architecturePage, '### Entry points'));
    expect(listedEntryPoints.sort()).toEqual(entryPoints.sort());
  });

  it('has the limits that lint enforces', () => {
    const { rules } = parseJson(readFileSync(join(repository, '.oxlintrc.json'), 'utf8')) as {
      rules: { [rule: string]: [string, { max?: number }] };
    };
    const text = readSection(architecturePage, '## Code limits');
    const readDocumentedLimit = (description: string): number =>
      Number(new RegExp(`^\\| ${description} \\| (\\d+) \\|$`, 'm').exec(text)?.[1]);
    expect({
      'max-lines': readDocumentedLimit('lines of code in a file, without comments and blank lines'),
      'max-lines-per-function': readDocumentedLimit('lines in a function'),
      complexity: readDocumentedLimit('cyclomatic complexity'),
      'max-params': readDocumentedLimit('parameters'),
    }).toEqual(
      Object.fromEntries(
        ['max-lines', 'max-lines-per-function', 'complexity', 'max-params'].map((rule) => [
          rule,
          rules[rule]?.[1].max,
        ]),
      ),
    );
  });
});

describe('docs/adr', () => {
  it('lists its decisions in order, each with context, decision and consequences', () => {
    const files = pages.filter((page) => /^docs\/adr\/\d{4}-.*\.md$/.test(page));
    const listedDecisions = [...readPage('docs/adr/README.md').matchAll(/^\d+\. \[(.+)\]\((.+)\)$/gm)];
    expect(files.length).toBeGreaterThan(15);
    expect(listedDecisions.map(([, , file]) => `docs/adr/${file}`)).toEqual(files);
    files.forEach((file, index) => {
      const [title, ...headings] = [...readPage(file).matchAll(/^##? (.+)$/gm)].map(([, heading]) => heading);
      expect(title).toBe(`${index + 1}. ${listedDecisions[index]?.[1]}`);
      expect(headings).toEqual(['Context', 'Decision', 'Consequences']);
    });
  });
});
