import type { JsonObject } from '@heddle/core/blocks';
import type { BlockDescription } from '../describe/describe.ts';
import { integrationOf, integrationTypes } from './catalog.ts';
import type { Integration } from './integration.ts';
import { fieldsOf } from './run.ts';

/** Returns the descriptions of the blocks that are integrations. */
export async function describeIntegrations(): Promise<BlockDescription[]> {
  const found = integrationTypes.map(async (type) => {
    const integration = await integrationOf(type);
    return integration ? [describeIntegration(type, integration)] : [];
  });
  return (await Promise.all(found)).flat();
}

function describeIntegration(
  type: string,
  { title, operations, tools, account }: Integration,
): BlockDescription {
  const [byDefault] = Object.keys(operations);
  const fields = new Map<string, JsonObject>([
    [
      'operation',
      {
        type: 'string',
        enum: Object.keys(operations),
        description: `What to do. Default: ${byDefault}.`,
      },
    ],
    ['credential', { type: 'string', description: 'Id of a stored credential.' }],
  ]);
  if (account !== undefined)
    fields.set(account, {
      type: 'string',
      description:
        'The account that the block is for. The block fails if the configured address is of another.',
    });
  const outputs = new Map<string, JsonObject>();
  for (const [id, tool] of Object.entries(tools)) {
    for (const [name, argument] of Object.entries(tool.arguments))
      for (const field of fieldsOf(name, argument)) {
        const description = argument.schema['description'] ?? '';
        if (!fields.has(field)) fields.set(field, { description });
      }
    const output = tool.answer?.output;
    const names = Object.keys(operations).filter((name) => operations[name] === id);
    for (const name of Object.keys(typeof output === 'object' ? output : {})) {
      const before = outputs.get(name)?.['description'];
      const description =
        typeof before !== 'string' ? `Result of ${names.join(', ')}` : [before, ...names].join(', ');
      outputs.set(name, { description });
    }
  }
  return {
    type,
    summary: `Uses ${title}.`,
    fields: { type: 'object', properties: Object.fromEntries(fields) },
    outputs: { type: 'object', properties: Object.fromEntries(outputs) },
  };
}
