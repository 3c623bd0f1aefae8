import * as z from 'zod';
import { defineLazyBlock } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import type { Context } from '../define.ts';
import { modelFields } from '../models/fields.ts';
import { routerOutputs, chooseRoute } from './route.ts';
import type { Choice } from './route.ts';

const PORT_PREFIX = 'router-';

/** The older router, which chooses among the blocks after it. */
export const router = defineLazyBlock({
  summary: 'Lets a model choose one of the blocks after it.',
  fields: z.object({ prompt: z.string().describe('The text to route.'), ...modelFields }),
  outputs: z.object({ prompt: z.string().describe('The text that was routed.'), ...routerOutputs }),
  async run({ fields: { prompt }, ...call }) {
    const choices = blocksAfter(call.context);
    if (choices.length === 0) throw invalidConfigError(call.context, 'has no block after it to choose');
    const { usage, port, selectedRoute, selectedPath } = await chooseRoute(call, choices, prompt);
    return { output: { prompt, ...usage, selectedRoute, selectedPath }, port };
  },
});

/** Returns the blocks after the router. The router's ports are named after these blocks. */
function blocksAfter({ services }: Context): Choice[] {
  return services
    .ports()
    .filter((port) => port.startsWith(PORT_PREFIX))
    .map((port) => {
      const id = port.slice(PORT_PREFIX.length);
      const { name, type } = services.lookup.describe(id);
      return { id, title: name, description: `A block of the type ${type}.` };
    });
}
