import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { layersOf, boxesOverlap, boxToMount } from '../../packages/studio/web/graph/layers.ts';
import type { View } from '../../packages/studio/web/graph/layers.ts';
import type { Box } from '../../packages/studio/web/graph/layout.ts';

const SIZE = { width: 900, height: 600 };

function viewAt(x: number, y: number, zoom: number): View {
  return { ...SIZE, transform: [x, y, zoom] };
}

/** Returns the visible part of the graph. */
function visiblePartOf({ transform: [x, y, zoom], width, height }: View): Box {
  return { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
}

describe('the part of a graph whose blocks are mounted', () => {
  it('contains the view and a small margin', () => {
    const offsets = fc.integer({ min: -100_000, max: 100_000 });
    const zooms = fc.double({ min: 0.02, max: 2, noNaN: true });
    fc.assert(
      fc.property(offsets, offsets, zooms, (x, y, zoom) => {
        const view = viewAt(x, y, zoom);
        const [part, visiblePart] = [boxToMount(view), visiblePartOf(view)];
        const tolerance = 1e-6 * (1 + Math.abs(visiblePart.x) + Math.abs(visiblePart.y));
        expect(part.x).toBeLessThanOrEqual(visiblePart.x + tolerance);
        expect(part.y).toBeLessThanOrEqual(visiblePart.y + tolerance);
        expect(part.x + part.width).toBeGreaterThanOrEqual(visiblePart.x + visiblePart.width - tolerance);
        expect(part.y + part.height).toBeGreaterThanOrEqual(visiblePart.y + visiblePart.height - tolerance);
        const maxMargin = (2 * Math.max(visiblePart.width, visiblePart.height)) / 8 + tolerance;
        expect(part.width - visiblePart.width).toBeLessThanOrEqual(maxMargin);
        expect(part.height - visiblePart.height).toBeLessThanOrEqual(maxMargin);
      }),
    );
  });

  it('changes in few frames while the view moves', () => {
    const parts = Array.from({ length: 120 }, (_, move) =>
      JSON.stringify(boxToMount(viewAt(-3 * move, 0, 1))),
    );
    const changes = parts.filter((part, move) => move > 0 && part !== parts[move - 1]);
    expect(changes.length).toBeGreaterThan(2);
    expect(changes.length).toBeLessThan(7);
  });
});

describe('the layers of a graph', () => {
  const block = (id: string, parentId: string | null = null) => ({
    ...{ id, parentId, name: id, type: 'function', enabled: true },
    ...{ position: null, width: null, height: null },
    ports: id === 'If' ? [{ id: 'condition-x', title: 'yes' }] : [],
  });
  const graph = {
    blocks: [block('In', 'Loop'), block('Loop'), block('If'), block('Lost')],
    edges: [
      { source: 'If', target: 'Loop', port: 'condition-x' },
      { source: 'Loop', target: 'In', port: 'loop-start-source' },
      { source: 'In', target: 'If', port: 'error' },
      { source: 'If', target: 'Lost', port: 'source' },
    ],
  };
  const boxes = new Map<string, Box>([
    ['Loop', { x: 300, y: 0, width: 400, height: 200 }],
    ['If', { x: 0, y: 0, width: 172, height: 56 }],
    ['In', { x: 320, y: 60, width: 172, height: 56 }],
  ]);

  it('have containers behind their blocks, and lines between blocks with boxes, except to the first block of a container', () => {
    const layers = layersOf(graph, boxes);
    expect(layers.map(({ blocks }) => blocks.map(({ block: { id } }) => id))).toEqual([
      ['Loop', 'If'],
      ['In'],
    ]);
    const lines = layers.map((layer) =>
      layer.lines.map(({ source, target, label }) => [source, target, label]),
    );
    expect(lines).toEqual([[['If', 'Loop', 'yes']], [['In', 'If', 'error']]]);
  });

  it('have lines within their boxes, including lines that lead backwards', () => {
    const lines = layersOf(graph, boxes).flatMap((layer) => layer.lines);
    for (const { path, box } of lines) {
      const numbers = (path.match(/-?\d+(?:\.\d+)?/g) ?? []).map(Number);
      expect(numbers.length).toBe(8);
      for (let index = 0; index < numbers.length; index += 2) {
        const [x = 0, y = 0] = numbers.slice(index, index + 2);
        expect(boxesOverlap(box, { x, y, width: 0, height: 0 })).toBe(true);
      }
    }
    expect(lines.find(({ isError }) => isError)?.box.width).toBeGreaterThan(492);
  });
});
