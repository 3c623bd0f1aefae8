import * as z from 'zod';
import { defineLazyBlock } from '../define.ts';

/** Records a step of reasoning. Calls no model. */
export const thinking = defineLazyBlock({
  summary: 'Records a thought, so that later blocks can read it.',
  fields: z.object({ thought: z.string().describe('The thought.') }),
  outputs: z.object({ acknowledgedThought: z.string().describe('The thought.') }),
  run: async ({ fields: { thought } }) => ({ output: { acknowledgedThought: thought } }),
});
