import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { layoutGraph } from '../../packages/studio/web/graph/layout.ts';

describe('the layout', () => {
  it('puts 20,000 blocks at different positions, even if the graph has a cycle', () => {
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
    const positions = layoutGraph({ blocks, edges: [...edges, edge(5, 4)] });
    expect(new Set([...positions.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(20_000);
    expect(positions.get('b1')?.x).toBeGreaterThan(positions.get('b0')?.x ?? 0);
    expect(positions.get('b3')?.x).toBeGreaterThan(positions.get('b1')?.x ?? 0);
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

  /**
   * Returns the compressed size of a chunk with its static imports. Skips chunks and files in `countedNames`, and adds
   * the others to it.
   */
  function bytesOf(name: string, countedNames = new Set<string>()): number {
    const chunk = manifest[name];
    if (!chunk || countedNames.has(name)) return 0;
    countedNames.add(name);
    const files = [chunk.file, ...(chunk.css ?? [])].filter((file) => !countedNames.has(file));
    for (const file of files) countedNames.add(file);
    const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(new URL(file, folder))).length, 0);
    return (chunk.imports ?? []).reduce(
      (sum, importedName) => sum + bytesOf(importedName, countedNames),
      bytes,
    );
  }

  it('are at most 250 KB for the shell, and 350 KB with the graph', () => {
    const [entry = ''] = Object.entries(manifest).flatMap(([name, { isEntry }]) => (isEntry ? [name] : []));
    for (const pages of [
      ['run/run-page.tsx'],
      ['workflows/workflow-page.tsx', 'workflows/workflow-graph.tsx'],
    ]) {
      const countedNames = new Set<string>();
      const shellBytes = bytesOf(entry, countedNames);
      expect(shellBytes).toBeGreaterThan(50_000);
      expect(shellBytes).toBeLessThan(250_000);
      const sizes = pages.map((page) => bytesOf(page, countedNames));
      for (const bytes of sizes) expect(bytes).toBeGreaterThan(1000);
      expect(sizes.reduce((sum, bytes) => sum + bytes, shellBytes)).toBeLessThan(350_000);
    }
  });
});
