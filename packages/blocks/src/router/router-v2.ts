import * as z from 'zod';
import { defineLazyBlock } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { modelFields } from '../models/fields.ts';
import { routerOutputs, chooseRoute } from './route.ts';

/** A router whose routes are defined in the block. */
export const routerV2 = defineLazyBlock({
  summary: 'Lets a model choose one of several routes.',
  fields: z.object({
    context: z.string().describe('The text to route.'),
    routes: z
      .array(
        z.looseObject({
          id: z.string().describe('Name of the port, without the prefix router-.'),
          title: z.string().default('').describe('Name of the route.'),
          value: z.string().default('').describe('When to choose it.'),
        }),
      )
      .describe('The routes.'),
    ...modelFields,
  }),
  outputs: z.object({
    context: z.string().describe('The text that was routed.'),
    reasoning: z.string().describe('Why the model chose the route.'),
    ...routerOutputs,
  }),
  async run({ fields: { context: text, routes }, ...call }) {
    if (routes.length === 0) throw invalidConfigError(call.context, 'has no routes');
    const choices = routes.map(({ id, title, value }) => ({ id, title, description: value }));
    const { usage, port, reasoning, selectedRoute, selectedPath } = await chooseRoute(call, choices, text);
    return { output: { context: text, ...usage, selectedRoute, reasoning, selectedPath }, port };
  },
});
