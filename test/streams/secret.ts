import type { RunEvent } from '@heddle/engine';
import { expect } from 'vitest';
import { block, workflow } from '../support/workflow.ts';
import { emissionsIn, summarize, textByBlockName } from './talk.ts';

export const SECRET = 'sesame_open+wid"';
export const REDACTED = '«redacted:KEY»';

/** A workflow whose block A, of the type `work`, can read the secret. */
export const SECRET_READER_WORKFLOW = workflow([block('A', 'work', { key: '{{KEY}}' })], ['Start -> A']);

const BASE64 = Buffer.from(SECRET).toString('base64');

/**
 * Chunks of a text that contains the secret unencoded, URL-encoded and in Base64, and that ends with the beginning of
 * the secret.
 */
export const TEXT_CHUNKS = [
  ...['say ses', 'ame_open', '+wid", ', 'sesame_ope', 'n%2Bw', 'id%22 and '],
  ...[BASE64.slice(0, 9), BASE64.slice(9), '; sesa'],
];

/** Expects the redacted events of a run whose block A emitted the chunks and completed. */
export function expectRedacted(events: readonly RunEvent[]): void {
  const emissions = emissionsIn(events);
  expect(emissions.map(({ number }) => number)).toEqual(emissions.map((_, index) => index + 1));
  expect(textByBlockName(emissions)).toEqual({ A: `say ${REDACTED}, ${REDACTED} and ${REDACTED}==; sesa` });
  expect(summarize(events).slice(-3)).toEqual(['A "sesa"', 'A completed', 'run ended']);
}
