import type { JsonObject } from '@heddle/core/blocks';
import type { BlockDescription } from '../describe/describe.ts';
import { driverOf, driverTypes } from '../drivers/catalog.ts';
import { operationsOf } from '../drivers/driver.ts';
import type { DriverIntegration } from '../drivers/driver.ts';
import { integrationOf, integrationTypes } from './catalog.ts';
import type { Argument, Integration } from './integration.ts';
import { fieldsOf } from './arguments.ts';

/** Returns the descriptions of the blocks that are integrations. */
export async function describeIntegrations(): Promise<BlockDescription[]> {
  const integrations = integrationTypes.map(async (type) => {
    const integration = await integrationOf(type);
    return integration ? [describeIntegration(type, integration)] : [];
  });
  const drivers = driverTypes.map(async (type) => {
    const integration = await driverOf(type);
    return integration ? [describeDriver(type, integration)] : [];
  });
  return (await Promise.all([...integrations, ...drivers])).flat();
}

function describeDriver(type: string, integration: DriverIntegration): BlockDescription {
  const { title, summary = `Uses ${title}.`, docs, settings, tools, outputs } = integration;
  const fields = commonFields(operationsOf(integration, type));
  if (docs === undefined) fields.delete('credential');
  for (const args of [settings, ...Object.values(tools).map((tool) => tool.arguments)])
    addFields(fields, args);
  return {
    type,
    summary,
    fields: { type: 'object', properties: Object.fromEntries(fields) },
    outputs: {
      type: 'object',
      properties: Object.fromEntries(
        Object.entries(outputs).map(([name, description]) => [name, { description }]),
      ),
    },
  };
}

/** Returns the fields that all integrations have. */
function commonFields(operations: Integration['operations']): Map<string, JsonObject> {
  const [defaultOperation] = Object.keys(operations);
  return new Map<string, JsonObject>([
    [
      'operation',
      {
        type: 'string',
        enum: Object.keys(operations),
        description: `What to do. Default: ${defaultOperation}.`,
      },
    ],
    ['credential', { type: 'string', description: 'Id of a stored credential.' }],
  ]);
}

/** Adds descriptions of the fields that set these arguments. A description that is already there is kept. */
function addFields(fields: Map<string, JsonObject>, args: { readonly [name: string]: Argument }): void {
  for (const [name, argument] of Object.entries(args))
    for (const field of fieldsOf(name, argument)) {
      const description = argument.schema['description'] ?? '';
      if (!fields.has(field)) fields.set(field, { description });
    }
}

function describeIntegration(
  type: string,
  { title, operations, tools, account }: Integration,
): BlockDescription {
  const fields = commonFields(operations);
  if (account !== undefined)
    fields.set(account, {
      type: 'string',
      description:
        'Account for which the block is written. The block fails if the configured base URL belongs to another account.',
    });
  const outputs = new Map<string, JsonObject>();
  for (const [id, tool] of Object.entries(tools)) {
    addFields(fields, tool.arguments);
    const output = tool.answer?.output;
    const names = Object.keys(operations).filter((name) => operations[name] === id);
    for (const name of Object.keys(typeof output === 'object' ? output : {})) {
      const earlier = outputs.get(name)?.['description'];
      const description =
        typeof earlier !== 'string' ? `Result of ${names.join(', ')}` : [earlier, ...names].join(', ');
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
