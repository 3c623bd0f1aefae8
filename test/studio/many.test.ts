import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { placesOf } from '../../packages/studio/web/run/layout.ts';
import { fn, workflow } from '../support/workflow.ts';
import { chromiumTool, studio } from './setup.ts';

/** With the two before them, as many as a draft may have. */
const BLOCKS = 1998;
const names = Array.from({ length: BLOCKS }, (_, index) => `Step ${index}`);

/** One block that runs, and many that are switched off, so that the run takes no time. */
const LARGE = workflow(
  [fn('First', 'return 1'), ...names.map((name) => ({ ...fn(name, 'return 1'), enabled: false }))],
  ['Start -> First', ...names.map((name, index) => `${index === 0 ? 'First' : names[index - 1]} -> ${name}`)],
);

describe.skipIf(!chromiumTool)('a graph of 2,000 blocks', () => {
  const world = studio();

  it(
    'has under 1,500 elements, at every zoom, and shows the block that the outline selects',
    { timeout: 120_000 },
    async () => {
      const runId = await world.run(await world.deployed('Large', LARGE));
      const page = await world.context.newPage();
      onTestFinished(() => page.close());
      await page.goto(`${world.url}/runs/${runId}`);
      const graph = page.getByRole('region', { name: 'Graph' });
      await graph.getByText('First', { exact: true }).waitFor();
      const count = () => page.evaluate<number>('document.querySelectorAll("*").length');
      expect(await count()).toBeLessThan(1500);
      for (let press = 0; press < 4; press += 1)
        await page.getByRole('button', { name: 'Zoom Out' }).click({ force: true });
      expect(await count()).toBeLessThan(1500);
      await page.getByRole('button', { name: 'First, completed' }).focus();
      await page.keyboard.press('End');
      await page.keyboard.press('Enter');
      await graph.getByText(names.at(-1) ?? '', { exact: true }).waitFor();
      expect(await count()).toBeLessThan(1500);
    },
  );
});

describe('the layout', () => {
  it('places 20,000 blocks, also in a cycle, without two at one place', () => {
    const block = (id: number) => ({
      ...{ id: `b${id}`, name: '', type: 'function', enabled: true, position: null },
      ...{ parentId: null, width: null, height: null, ports: [] },
    });
    const blocks = Array.from({ length: 20_000 }, (_, id) => block(id));
    const edge = (source: number, target: number) => ({
      source: `b${source}`,
      target: `b${target}`,
      port: 'source',
    });
    const edges = blocks.flatMap((_, id) =>
      id % 4 === 0 ? [edge(id, id + 1), edge(id, id + 2), edge(id + 1, id + 3)] : [],
    );
    const places = placesOf({ blocks, edges: [...edges, edge(5, 4)] });
    expect(new Set([...places.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(20_000);
    expect(places.get('b1')?.x).toBeGreaterThan(places.get('b0')?.x ?? 0);
    expect(places.get('b3')?.x).toBeGreaterThan(places.get('b1')?.x ?? 0);
  });
});

describe('the files that a browser loads', () => {
  const folder = new URL('../../packages/studio/dist/web/', import.meta.url);
  interface Chunk {
    file: string;
    css?: string[];
    imports?: string[];
    isEntry?: boolean;
  }
  const manifest = JSON.parse(readFileSync(new URL('.vite/manifest.json', folder), 'utf8')) as {
    [name: string]: Chunk;
  };

  /** The compressed size of a chunk and of all that it loads at once. */
  function bytesOf(name: string, seen = new Set<string>()): number {
    const chunk = manifest[name];
    if (!chunk || seen.has(name)) return 0;
    seen.add(name);
    const own = [chunk.file, ...(chunk.css ?? [])].filter((file) => !seen.has(file));
    for (const file of own) seen.add(file);
    const bytes = own.reduce((sum, file) => sum + gzipSync(readFileSync(new URL(file, folder))).length, 0);
    return (chunk.imports ?? []).reduce((sum, each) => sum + bytesOf(each, seen), bytes);
  }

  it('are at most 250 KB for the shell, and 350 KB with the graph', () => {
    const [entry = ''] = Object.entries(manifest).flatMap(([name, { isEntry }]) => (isEntry ? [name] : []));
    const seen = new Set<string>();
    const shell = bytesOf(entry, seen);
    expect(shell).toBeGreaterThan(50_000);
    expect(shell).toBeLessThan(250_000);
    expect(shell + bytesOf('run/run-page.tsx', seen)).toBeLessThan(350_000);
  });
});
