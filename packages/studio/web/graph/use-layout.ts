import { useEffect, useMemo, useState } from 'react';
import { needsLayoutWorker, layoutGraph } from './layout.ts';
import type { Box, LayoutGraph } from './layout.ts';
import workerUrl from './layout-worker.ts?worker&url';

type Layout = ReadonlyMap<string, Box>;

/** Returns the boxes of the blocks, relative to their containers; undefined while a worker computes a slow layout. */
export function useLayout(graph: LayoutGraph): Layout | undefined {
  const quickLayout = useMemo(() => (needsLayoutWorker(graph) ? undefined : layoutGraph(graph)), [graph]);
  const [workerLayout, setWorkerLayout] = useState<{ graph: LayoutGraph; layout: Layout }>();
  useEffect(() => {
    if (quickLayout) return undefined;
    const worker = startWorker();
    worker.addEventListener('message', ({ data: layout }: MessageEvent<Layout>) =>
      setWorkerLayout({ graph, layout }),
    );
    // If the browser refuses the worker, the page lays out the graph itself.
    worker.addEventListener('error', () => setWorkerLayout({ graph, layout: layoutGraph(graph) }));
    const { blocks, edges } = graph;
    worker.postMessage({ blocks, edges });
    return () => worker.terminate();
  }, [graph, quickLayout]);
  return quickLayout ?? (workerLayout?.graph === graph ? workerLayout.layout : undefined);
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string };
}

/** The page accepts script URLs only from a Trusted Types policy. This policy returns only the URL of the worker. */
const policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy('heddle-layout', {
  createScriptURL: () => workerUrl,
});

function startWorker(): Worker {
  return new Worker(policy ? policy.createScriptURL(workerUrl) : workerUrl, { type: 'module' });
}
