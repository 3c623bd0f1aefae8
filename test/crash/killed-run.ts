import type { Json } from '@heddle/core';
import { block, loop, workflow } from '../support/workflow.ts';

export const RUN_ID = 'killed-run';

/** A loop of three iterations (two effects, a pause, an effect that reads the answer), then a last effect. */
export const WORKFLOW: Json = workflow(
  [
    loop(
      'L',
      { loopType: 'for', count: 3 },
      block('E', 'effect'),
      block('G', 'effect'),
      block('H', 'human_in_the_loop', {}),
      block('F', 'effect', { answer: '<h.n>' }),
    ),
    block('Z', 'effect', { results: '<l.results>' }),
  ],
  ['Start -> L -> E -> G -> H -> F', 'L -> Z'],
  { id: 'loop' },
);
