import type { Json } from '@heddle/core';
import { block, loop, workflow } from '../support/workflow.ts';

export const RUN_ID = 'killed-run';

/** Three turns of: an effect, another one, a pause, an effect with its answer; a last effect at the end. */
export const TURNS: Json = workflow(
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
  { id: 'turns' },
);
