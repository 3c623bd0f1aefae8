import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { placesOf } from '../../packages/studio/web/graph/layout.ts';

describe('the layout', () => {
  it('places 20,000 blocks at different places, even in a cycle', () => {
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

  /** Returns the compressed size of a chunk with all its static imports. */
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
    for (const pages of [
      ['run/run-page.tsx'],
      ['workflows/workflow-page.tsx', 'workflows/workflow-graph.tsx'],
    ]) {
      const seen = new Set<string>();
      const shell = bytesOf(entry, seen);
      expect(shell).toBeGreaterThan(50_000);
      expect(shell).toBeLessThan(250_000);
      const more = pages.map((page) => bytesOf(page, seen));
      for (const bytes of more) expect(bytes).toBeGreaterThan(1000);
      expect(more.reduce((sum, bytes) => sum + bytes, shell)).toBeLessThan(350_000);
    }
  });
});
