import { useEffect, useMemo, useState } from 'react';
import { isSlowToPlace, placesOf } from './layout.ts';
import type { Box, LayoutGraph } from './layout.ts';
import workerAddress from './layout-worker.ts?worker&url';

type Places = ReadonlyMap<string, Box>;

/** Returns the places of the blocks; undefined until a worker has laid them out, so that a slow layout does not stop the page. */
export function usePlaces(graph: LayoutGraph): Places | undefined {
  const now = useMemo(() => (isSlowToPlace(graph) ? undefined : placesOf(graph)), [graph]);
  const [later, setLater] = useState<{ graph: LayoutGraph; places: Places }>();
  useEffect(() => {
    if (now) return undefined;
    const worker = startWorker();
    worker.addEventListener('message', ({ data: places }: MessageEvent<Places>) =>
      setLater({ graph, places }),
    );
    // Without a worker, which a browser may refuse, the page lays it out itself.
    worker.addEventListener('error', () => setLater({ graph, places: placesOf(graph) }));
    const { blocks, edges } = graph;
    worker.postMessage({ blocks, edges });
    return () => worker.terminate();
  }, [graph, now]);
  return now ?? (later?.graph === graph ? later.places : undefined);
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string };
}

/** The page accepts addresses of scripts only from a Trusted Types policy. This one returns a single address. */
const trusted = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy('heddle-layout', {
  createScriptURL: () => workerAddress,
});

function startWorker(): Worker {
  return new Worker(trusted ? trusted.createScriptURL(workerAddress) : workerAddress, { type: 'module' });
}
