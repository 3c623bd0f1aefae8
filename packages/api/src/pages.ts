/** Functions for authors of pages on which people without a credential run workflows. */
export { takeFrom } from './admission/limiter.ts';
export { resolveSelectors } from './areas/runs/selected.ts';
export { executeOnPage } from './areas/runs/page-run.ts';
export type { PageRun } from './areas/runs/page-run.ts';
export { answerOnPage, findPause, pauseLinks } from './areas/runs/page-answer.ts';
export type { PageAnswer, PagePause } from './areas/runs/page-answer.ts';
export { readJson } from './http/parse.ts';
export { respondError } from './http/reply.ts';
