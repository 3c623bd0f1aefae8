import { useEffect, useMemo, useState } from 'react';
import { needsLayoutWorker, layoutGraph } from './layout.ts';
import type { Box, LayoutGraph } from './layout.ts';
import workerUrl from './layout-worker.ts?worker&url';

type Layout = ReadonlyMap<string, Box>;

/** Returns the places of the blocks. If the layout is slow, the result is undefined until a worker has finished. */
export function useLayout(graph: LayoutGraph): Layout | undefined {
  const quickPlaces = useMemo(() => (needsLayoutWorker(graph) ? undefined : layoutGraph(graph)), [graph]);
  const [workerPlaces, setWorkerPlaces] = useState<{ graph: LayoutGraph; places: Layout }>();
  useEffect(() => {
    if (quickPlaces) return undefined;
    const worker = startWorker();
    worker.addEventListener('message', ({ data: places }: MessageEvent<Layout>) =>
      setWorkerPlaces({ graph, places }),
    );
    // If the browser refuses the worker, the page lays out the graph itself.
    worker.addEventListener('error', () => setWorkerPlaces({ graph, places: layoutGraph(graph) }));
    const { blocks, edges } = graph;
    worker.postMessage({ blocks, edges });
    return () => worker.terminate();
  }, [graph, quickPlaces]);
  return quickPlaces ?? (workerPlaces?.graph === graph ? workerPlaces.places : undefined);
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
