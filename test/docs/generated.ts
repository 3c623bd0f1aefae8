import { describeBlocks, knownModels } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { modelFields, modelOutputs } from '../../packages/blocks/src/models/fields.ts';
import {
  nativeIntegrationOf,
  nativeIntegrationTypes,
} from '../../packages/blocks/src/native-integrations/catalog.ts';
import type { NativeIntegration } from '../../packages/blocks/src/native-integrations/native-integration.ts';
import { integrationOf, integrationTypes } from '../../packages/blocks/src/integrations/catalog.ts';
import type { Argument, Integration } from '../../packages/blocks/src/integrations/integration.ts';
import { fieldsOf } from '../../packages/blocks/src/integrations/arguments.ts';
import { describeBlock } from '../../packages/blocks/src/describe/describe.ts';
import { ERROR_CODES_BY_STATUS, refusalOf } from '../../packages/api/src/errors.ts';
import * as z from 'zod';
import { errorStatusesOf } from '../../packages/api/src/openapi.ts';
import type { AnyOperation } from '../../packages/api/src/operation.ts';
import { EngineError } from '../../packages/core/src/errors.ts';
import type { EngineErrorCode } from '../../packages/core/src/errors.ts';
import { formatCorpusTable } from '../attacks/corpus.ts';
import { readText } from '../repo/sources.ts';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';
import { codesInUnion } from '../repo/unions.ts';
import { boundsTable } from './bounds.ts';
import { constantAt } from './constants.ts';
import { cellsOf, codeIn, formatRow, formatTable } from './markdown.ts';

/** The pages with generated parts, which `npm test -- test/docs/generated -u` updates. */
export const GENERATED_PAGES: readonly string[] = [
  'docs/api-coverage.md',
  'docs/api.md',
  'docs/blocks.md',
  'docs/errors.md',
  'docs/events.md',
  'docs/limits.md',
  'docs/models.md',
  'docs/sandbox-attacks.md',
  'docs/tools.md',
  'docs/triggers.md',
  'docs/webhooks.md',
  'docs/feeds.md',
];

const BLOCK_DESCRIPTIONS = await describeBlocks();

/** Tables that are generated completely, by the name in the comment above them (`<!-- generated: name -->`). */
const TABLES: { readonly [name: string]: () => string[] } = {
  operations: operationsTable,
  statuses: statusesTable,
  refusals: engineErrorsTable,
  fields: boundsTable,
  corpus: formatCorpusTable,
  areas: areasTable,
  interface: interfaceTable,
  integrations: integrationsTable,
  known_models: knownModelsTable,
  ...blockTables(),
};

/** Returns the page with its generated parts: whole tables, and the values of tables of limits. */
export function updateGeneratedParts(text: string): string {
  return text
    .replaceAll(/^(<!-- generated: (\w+) -->)\n(?:\n(?:\|.*\n)+)?/gm, (_, comment: string, name: string) => {
      const table = TABLES[name];
      if (!table) throw new Error(`Nothing generates the table "${name}".`);
      return `${comment}\n\n${table().join('\n')}\n`;
    })
    .replaceAll(/^(<!-- limits -->\n\n.*\n.*\n)((?:\|.*\n)+)/gm, (_, head: string, rows: string) => {
      return head + rows.replaceAll(/^.+$/gm, limitRow);
    });
}

/** Returns the row with the value of the constant that its last cell names. */
function limitRow(row: string): string {
  const [name = '', , ...others] = cellsOf(row);
  const constant = others.at(-1) ?? '';
  const value = constantAt(codeIn(constant) ?? '');
  if (value === undefined) throw new Error(`There is no number at ${constant} (${row}).`);
  return formatRow([name, value.toLocaleString('en-US'), ...others]);
}

/** Returns the table of operations, with the required scope and role. */
function operationsTable(): string[] {
  const rows = SERVED_OPERATIONS.map(({ method, path, summary, scope, role, principals, resource }) => [
    `\`${method} ${path}\``,
    summary,
    scope.replace('api:', ''),
    resource.kind === 'none' ? 'any' : role,
    principals.includes('workspace') ? 'yes' : 'no',
  ]);
  return formatTable(['operation', '', 'scope', 'role', 'workspace key'], rows);
}

/** An operation of the API. */
interface InterfaceRow {
  area: string;
  method: string;
  path: string;
  operation: string;
}

/** Returns the operations of the whole interface, from interface.tsv, and whether `heddle serve` has them. */
function interfaceRows(): (InterfaceRow & { isServed: boolean })[] {
  const operationKey = (method: string, path: string): string =>
    `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`;
  const servedKeys = new Set(SERVED_OPERATIONS.map(({ method, path }) => operationKey(method, path)));
  const [, ...lines] = readText('test/docs/interface.tsv').trim().split('\n');
  return lines.map((line) => {
    const [area = '', method = '', path = '', operation = ''] = line.split('\t');
    return { area, method, path, operation, isServed: servedKeys.has(operationKey(method, path)) };
  });
}

/** Returns the table of areas (groups of API operations), with the number of served operations. */
function areasTable(): string[] {
  const byArea = Map.groupBy(interfaceRows(), ({ area }) => area);
  const rows = [...byArea].map(([area, areaOperations]) => [
    area,
    String(areaOperations.filter(({ isServed }) => isServed).length),
    String(areaOperations.length),
  ]);
  return formatTable(['area', 'served', 'operations'], rows);
}

/** Returns the table of the operations of the whole interface, with their state. */
function interfaceTable(): string[] {
  const rows = interfaceRows().map(({ area, method, path, operation, isServed }) => [
    area,
    `\`${method} ${path}\``,
    `\`${operation}\``,
    isServed ? 'served' : 'not yet',
  ]);
  return formatTable(['area', 'operation', 'id', 'state'], rows);
}

/** Returns the table of the statuses of errors, with the operations that declare each status. */
function statusesTable(): string[] {
  const currentOperations = SERVED_OPERATIONS.filter(({ legacy }) => !legacy);
  const rows = Object.entries(ERROR_CODES_BY_STATUS).map(([status, code]) => {
    const declares = (operation: AnyOperation): boolean =>
      errorStatusesOf(operation).some((errorStatus) => String(errorStatus) === status);
    const [declaringIds, otherIds] = partition(currentOperations, declares);
    return [status, `[${code}](#${code.toLowerCase()})`, operationList(declaringIds, otherIds)];
  });
  return formatTable(['status', 'code', 'operations that declare it'], rows);
}

function partition(
  operations: readonly AnyOperation[],
  predicate: (operation: AnyOperation) => boolean,
): [string[], string[]] {
  const idsWhere = (matches: boolean): string[] =>
    operations.filter((operation) => predicate(operation) === matches).map(({ id }) => `\`${id}\``);
  return [idsWhere(true), idsWhere(false)];
}

function operationList(included: string[], excluded: string[]): string {
  if (excluded.length === 0) return 'all';
  return included.length > excluded.length ? `all but ${excluded.join(', ')}` : included.join(', ');
}

/** Returns the table of the engine's error codes, with their status over HTTP. */
function engineErrorsTable(): string[] {
  const codes = codesInUnion(readText('packages/core/src/errors.ts'), 'EngineErrorCode') as EngineErrorCode[];
  const rows = codes.map((code) => {
    const { status } = refusalOf(new EngineError(code, 'a message')) ?? { status: 500 as const };
    return [`[${code}](#${code.toLowerCase()})`, String(status), ERROR_CODES_BY_STATUS[status]];
  });
  return formatTable(['engine error', 'status', 'code'], rows);
}

/**
 * Returns the tables of fields and outputs of each block of @heddle/blocks (`block_<type>`), and of all blocks with a
 * model.
 */
function blockTables(): { [name: string]: () => string[] } {
  const model = describeBlock('model', {
    summary: '',
    fields: z.object(modelFields),
    outputs: z.object(modelOutputs),
  });
  const sharedNames = new Set([...Object.keys(modelFields), ...Object.keys(modelOutputs)]);
  const tables = BLOCK_DESCRIPTIONS.map(({ type, fields, outputs }): [string, () => string[]] => [
    `block_${type}`,
    () =>
      formatTable(BLOCK_HEAD, [
        ...schemaRows(fields, 'field', sharedNames),
        ...schemaRows(outputs, 'output', sharedNames),
      ]),
  ]);
  return {
    ...Object.fromEntries(tables),
    block_model: () =>
      formatTable(BLOCK_HEAD, [...schemaRows(model.fields, 'field'), ...schemaRows(model.outputs, 'output')]),
  };
}

const INTEGRATIONS = [...new Set(await Promise.all(integrationTypes.map(integrationOf)))].flatMap(
  (integration) => integration ?? [],
);

const NATIVE_INTEGRATIONS = [
  ...new Set(await Promise.all(nativeIntegrationTypes.map(nativeIntegrationOf))),
].flatMap((integration) => integration ?? []);

/** Nouns for what has its own base URL at the service, such as a site, by service. Default: account. */
const ACCOUNT_NOUNS: { readonly [service: string]: string } = { jira: 'site', supabase: 'project' };

/** Names of the programs whose documentation a page links instead of that of the service, by service. */
const DOCUMENTATION_SUBJECTS: { readonly [service: string]: string } = { supabase: 'PostgREST' };

/** The page of each integration by its path. */
export const INTEGRATION_PAGES: ReadonlyMap<string, string> = new Map([
  ...INTEGRATIONS.map((integration) => [pagePathOf(integration), integrationPage(integration)] as const),
  ...NATIVE_INTEGRATIONS.map(
    (integration) => [pagePathOf(integration), nativeIntegrationPage(integration)] as const,
  ),
]);

function pagePathOf({ service }: Pick<Integration, 'service'>): string {
  return `docs/integrations/${service}.md`;
}

/** Returns the table of all integrations, with the number of their operations. */
function integrationsTable(): string[] {
  const rows = [...INTEGRATIONS, ...NATIVE_INTEGRATIONS.filter(({ docsUrl }) => docsUrl !== undefined)]
    .toSorted((a, b) => (a.title < b.title ? -1 : 1))
    .map((integration) => [
      `[${integration.title}](integrations/${integration.service}.md)`,
      integration.types.map((type) => `\`${type}\``).join(', '),
      `\`${integration.service}\``,
      Object.keys(integration.tools).length.toString(),
    ]);
  return formatTable(['integration', 'block types', 'service', 'operations'], rows);
}

/** Returns the table of the arguments of a tool, with the fields that set them. */
function argumentsTable(toolArguments: { readonly [name: string]: Argument }): string[] {
  const rows = Object.entries(toolArguments).map(([name, argument]) => [
    `\`${name}\``,
    fieldsOf(name, argument)
      .map((field) => `\`${field}\``)
      .join(', '),
    argument.required === true ? 'yes' : '',
    asMarkdown(argument.schema['description'] as Json),
  ]);
  return rows.length === 0
    ? []
    : ['', ...formatTable(['argument', 'block field', 'required', 'description'], rows)];
}

/** Returns the sentences about operations and tables at the beginning of the page of an integration. */
function introduction(tools: {
  readonly [id: string]: { readonly arguments: { readonly [name: string]: Argument } };
}): string {
  const counts = Object.values(tools)
    .flatMap((tool) => Object.entries(tool.arguments))
    .map(([name, argument]) => fieldsOf(name, argument).length);
  return [
    'Each section describes one operation. For agents, each operation is a tool, and the title of the section is the id of this tool.',
    'In a block, the field `operation` selects the operation, and the block fields in the table set the arguments of the operation.',
    ...(counts.some((count) => count > 1)
      ? ['If the table lists several block fields for an argument, set only one of them.']
      : []),
    ...(counts.includes(0)
      ? ['If the table has no block field for an argument, only agents can set it.']
      : []),
    '[Tools](../tools.md) explains how agents use these tools, the errors and the limits.',
  ].join(' ');
}

/** Returns the sentence that says how a block selects an operation, which can have several names. */
function operationSentence(names: readonly string[]): string {
  const quotedNames = names.map((name) => `\`${name}\``);
  const nameGroups = [quotedNames.slice(0, -1).join(', '), ...quotedNames.slice(-1)].filter(
    (group) => group !== '',
  );
  return `Value of the block field \`operation\`: ${nameGroups.join(' or ')}.`;
}

/** Returns the sentence that defines run files, if an operation uses them. */
function runFileSentence(tools: Integration['tools']): string {
  const usesFiles = JSON.stringify(tools).toLowerCase().includes('run file');
  return usesFiles
    ? ' A *run file* is a file that Heddle stores for one run ([files](../format.md#files)).'
    : '';
}

/** Returns the page of an integration with a client library. */
function nativeIntegrationPage({
  title,
  docsUrl,
  types,
  setupInstructions,
  settings,
  operations,
  tools,
}: NativeIntegration): string {
  const sections = Object.entries(tools).flatMap(([id, tool]) => {
    const names = Object.keys(operations).filter((name) => operations[name] === id);
    const blockOnlyArguments = Object.entries(tool.arguments).filter(
      ([, { blocksOnly, dependsOn }]) => blocksOnly ?? dependsOn,
    );
    const modelRestrictions = blockOnlyArguments.map(([name]) => ` Models cannot set \`${name}\`.`).join('');
    return [
      ...['', `## ${id}`, ''],
      `${tool.description} ${operationSentence(names)}${modelRestrictions}`,
      ...argumentsTable(tool.arguments),
    ];
  });
  return [
    `# ${title}`,
    '',
    `${referenceSentence(types)}${docsUrl === undefined ? '' : ` See also the [documentation of the service](${docsUrl}).`}`,
    ...['', introduction(tools), '', setupInstructions],
    ...(Object.keys(settings).length === 0
      ? []
      : [
          '',
          '## Fields of all operations',
          '',
          'A model cannot set these fields.',
          ...argumentsTable(settings),
        ]),
    ...sections,
    '',
  ].join('\n');
}

/** Returns the first sentence of the page of an integration, with its types. */
function referenceSentence(types: readonly string[]): string {
  const typeList = types.map((type) => `\`${type}\``).join(', ');
  return types.length === 1
    ? `Reference for blocks and agent tools of the type ${typeList}.`
    : `Reference for blocks and agent tools of the types ${typeList}.`;
}

/** Returns the page of an integration, from its definition. */
function integrationPage({
  title,
  service,
  docsUrl,
  baseUrl,
  types,
  accountField,
  credential,
  operations,
  tools,
}: Integration): string {
  const accountNoun = ACCOUNT_NOUNS[service] ?? 'account';
  const scopes = credential.type === 'bearer' && credential.scopes.length > 0 ? credential.scopes : [];
  const sections = Object.entries(tools).flatMap(([id, tool]) => {
    const names = Object.keys(operations).filter((name) => operations[name] === id);
    const sentences = [
      tool.description,
      operationSentence(names),
      `The operation sends \`${tool.method} ${tool.path}\`${tool.paging ? `, and fetches up to ${tool.paging.pages} pages of results` : ''}.`,
      ...(tool.keyHeader === undefined
        ? []
        : [
            `If Heddle retries the call, it sends the same header \`${tool.keyHeader}\`, so that the service can recognize the retry.`,
          ]),
    ];
    return ['', `## ${id}`, '', sentences.join(' '), ...argumentsTable(tool.arguments)];
  });
  return [
    `# ${title}`,
    '',
    `${referenceSentence(types)} See also the [documentation of ${DOCUMENTATION_SUBJECTS[service] ?? 'the service'}](${docsUrl}).`,
    '',
    `${introduction(tools)}${runFileSentence(tools)}`,
    '',
    baseUrl === undefined
      ? `The base URL is the URL of your ${accountNoun}. Set it with \`--service ${service}=URL\`.`
      : `The base URL is \`${baseUrl}\`. You can replace it with \`--service ${service}=URL\`.`,
    '',
    `The block field \`credential\` contains the id of a stored credential. Without this field, Heddle uses the value of \`--credential ${service}=VALUE\`, or the credential that the workspace has stored for the provider \`${service}\`.`,
    ...(accountField === undefined
      ? []
      : [
          '',
          `The block field \`${accountField}\` can contain the host of the base URL or the first part of this host. If it names another host, the block fails. A ${accountNoun} therefore never receives the credential of another ${accountNoun}.`,
        ]),
    ...(scopes.length === 0
      ? []
      : ['', `OAuth scopes that the operations need: ${scopes.map((scope) => `\`${scope}\``).join(', ')}.`]),
    ...sections,
    '',
  ].join('\n');
}

const BLOCK_HEAD = ['', '', ''];

/** Returns a row for each property of a schema, except those in `excluded`. */
function schemaRows(
  { properties = {}, required = [] }: JsonObject,
  kind: 'field' | 'output',
  excluded: ReadonlySet<string> = new Set(),
): string[][] {
  return Object.entries(properties as { [name: string]: JsonObject })
    .filter(([name]) => !excluded.has(name))
    .map(([name, { description }]) => {
      const isRequired = kind === 'field' && (required as string[]).includes(name);
      return [`\`${name}\``, isRequired ? 'field, required' : kind, asMarkdown(description)];
    });
}

/** Returns a description as Markdown. References and placeholders become code, so that `<a.b>` is not read as a tag. */
function asMarkdown(description: Json | undefined): string {
  return typeof description === 'string' ? description.replaceAll(/<[\w.]+>|\{\{\w+\}\}/g, '`$&`') : '';
}

/** Returns the table of known models, in the order of `knownModels`. */
function knownModelsTable(): string[] {
  const limits = ['context window, tokens', 'maximum output, tokens'];
  const prices = ['input, $', 'cached input, $', 'output, $'];
  const rows = knownModels().map((model) => [
    `\`${model.provider}\``,
    `\`${model.id}\``,
    model.context.toLocaleString('en'),
    model.output.toLocaleString('en'),
    String(model.prices.input),
    String(model.prices.cachedInput ?? ''),
    String(model.prices.output),
    model.reasoning ? 'yes' : '',
  ]);
  return formatTable(['provider', 'model', ...limits, ...prices, 'configurable reasoning'], rows);
}
