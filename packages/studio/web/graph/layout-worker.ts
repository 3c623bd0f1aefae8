import { layoutGraph } from './layout.ts';
import type { LayoutGraph } from './layout.ts';

/** Lays out the graph of each message and posts the boxes of the blocks. */
globalThis.addEventListener('message', ({ data }: MessageEvent<LayoutGraph>) => {
  globalThis.postMessage(layoutGraph(data));
});
