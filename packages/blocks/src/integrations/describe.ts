import type { JsonObject } from '@heddle/core/blocks';
import type { BlockDescription } from '../describe/describe.ts';
import { nativeIntegrationOf, nativeIntegrationTypes } from '../native-integrations/catalog.ts';
import { operationsOf } from '../native-integrations/native-integration.ts';
import type { NativeIntegration } from '../native-integrations/native-integration.ts';
import { integrationOf, integrationTypes } from './catalog.ts';
import type { Argument, Integration } from './integration.ts';
import { fieldsOf } from './arguments.ts';

/** Returns the descriptions of the blocks that are integrations. */
export async function describeIntegrations(): Promise<BlockDescription[]> {
  const descriptions = integrationTypes.map(async (type) => {
    const integration = await integrationOf(type);
    return integration ? [describeIntegration(type, integration)] : [];
  });
  const nativeDescriptions = nativeIntegrationTypes.map(async (type) => {
    const integration = await nativeIntegrationOf(type);
    return integration ? [describeNativeIntegration(type, integration)] : [];
  });
  return (await Promise.all([...descriptions, ...nativeDescriptions])).flat();
}

function describeNativeIntegration(type: string, integration: NativeIntegration): BlockDescription {
  const { title, summary = `Uses ${title}.`, docsUrl, settings, tools, outputs } = integration;
  const operations = operationsOf(integration, type);
  const fields = commonFields(operations);
  if (docsUrl === undefined) fields.delete('credential');
  // The settings are described like the arguments of a tool without operations, because all operations have them.
  addFields(fields, { operations: {}, tools: { settings: { arguments: settings } } });
  addFields(fields, { operations, tools });
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

/** Tools with their arguments, and the tool of each operation. */
interface DescribedTools {
  operations: Integration['operations'];
  tools: { readonly [id: string]: { readonly arguments: { readonly [name: string]: Argument } } };
}

/**
 * Adds descriptions of the fields that set the arguments of tools. If a field means something else in another
 * operation, each meaning names its operations. A description that is already there is kept.
 */
function addFields(fields: Map<string, JsonObject>, { operations, tools }: DescribedTools): void {
  const uses = Object.entries(tools).flatMap(([id, { arguments: args }]) => {
    const operationNames = Object.keys(operations).filter((name) => operations[name] === id);
    return Object.entries(args).flatMap(([name, argument]) => {
      const { description } = argument.schema;
      const meaning = typeof description === 'string' ? description : '';
      return fieldsOf(name, argument).map((field) => ({ field, meaning, operationNames }));
    });
  });
  for (const [field, fieldUses] of Map.groupBy(uses, (use) => use.field))
    if (!fields.has(field)) fields.set(field, { description: descriptionOf(fieldUses) });
}

/** The meaning of a field in the operations of one tool. */
interface FieldUse {
  meaning: string;
  operationNames: readonly string[];
}

function descriptionOf(uses: readonly FieldUse[]): string {
  const usesByMeaning = [...Map.groupBy(uses, ({ meaning }) => meaning)];
  const [first] = usesByMeaning;
  if (first && usesByMeaning.length === 1) return first[0];
  return usesByMeaning
    .map(
      ([meaning, meaningUses]) =>
        `${meaning} (${meaningUses.flatMap((use) => use.operationNames).join(', ')})`,
    )
    .join('; ');
}

function describeIntegration(
  type: string,
  { title, operations, tools, accountField }: Integration,
): BlockDescription {
  const fields = commonFields(operations);
  if (accountField !== undefined)
    fields.set(accountField, {
      type: 'string',
      description:
        'Account for which the block is written. The block fails if the configured base URL belongs to another account.',
    });
  const outputs = new Map<string, JsonObject>();
  addFields(fields, { operations, tools });
  for (const [id, tool] of Object.entries(tools)) {
    const output = tool.answer?.output;
    const operationNames = Object.keys(operations).filter((name) => operations[name] === id);
    for (const name of Object.keys(typeof output === 'object' ? output : {})) {
      const earlierDescription = outputs.get(name)?.['description'];
      const description =
        typeof earlierDescription !== 'string'
          ? `Result of ${operationNames.join(', ')}`
          : [earlierDescription, ...operationNames].join(', ');
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
