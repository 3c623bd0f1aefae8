/** Functions for authors of pages on which people without a credential run workflows. */
export { consumeRateLimit } from './admission/limiter.ts';
export { resolveSelectors } from './areas/runs/selected-outputs.ts';
export { executeFromWebPage } from './areas/runs/web-page-run.ts';
export type { WebPageRun } from './areas/runs/web-page-run.ts';
export { answerOnPage, findPause, pauseLinks } from './areas/runs/pause-point-ref.ts';
export type { PausePointRef, OpenPause } from './areas/runs/pause-point-ref.ts';
export { readJson } from './http/parse.ts';
export { respondError } from './http/reply.ts';
