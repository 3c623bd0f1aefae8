import type * as z from 'zod';
import { parentOf } from '../graph/containment.ts';
import type { ContainedBlock } from '../graph/containment.ts';
import { append } from '../graph/multimap.ts';
import { getOwn } from '../json.ts';
import type { Json } from '../json.ts';
import type { Compilation } from './compilation.ts';
import { diagnostic } from './diagnostics.ts';
import type { DiagnosticCode } from './diagnostics.ts';
import type { BlockConfig } from './plan.ts';
import { fieldLocation } from './field-location.ts';
import { isTriggerType, typeNames } from './types.ts';
import type { HostFeature } from '../ports.ts';
import { isJsonText, templateFields, templateItems } from '../refs/json-text.ts';
import { SimilarNames } from '../refs/similar-names.ts';
import type { SimilarName } from '../refs/similar-names.ts';
import type { Template } from '../refs/template.ts';
import { BLOCK_FIELDS } from '../schema/block-fields.ts';
import { inputFields } from '../schema/input-format.ts';
import { isContainerType } from '../schema/read-block.ts';
import { isBlank } from '../schema/known-keys.ts';
import type { Block } from '../schema/workflow.ts';

/** Fields without which a block of a known type fails, unless a mock replaces it. */
const REQUIRED_FIELDS: ReadonlyMap<string, string> = new Map([
  ['workflow', 'workflowId'],
  ['workflow_input', 'workflowId'],
  ['api', 'url'],
  ['webhook_request', 'url'],
]);

/**
 * Reports types without an executor, operations that use data which the host does not store, empty containers, empty
 * required fields, and misspelled or invalid fields.
 */
export function checkBlocks(compilation: Compilation, configs: ReadonlyMap<string, BlockConfig>): void {
  const similarTypes = new SimilarNames(typeNames(compilation.types));
  const bodies = new Map<string, ContainedBlock[]>();
  for (const containedBlock of compilation.structure.containedBlocks.values()) {
    const containerId = parentOf(containedBlock);
    if (containerId !== undefined) append(bodies, containerId, containedBlock);
  }
  for (const id of [...compilation.structure.runnableIds].toSorted()) {
    const { block } = compilation.structure.containedBlocks.get(id) as ContainedBlock;
    if (!block.trigger || isTriggerType(block.type)) checkFields(compilation, block, configs.get(id));
    if (block.trigger || isTriggerType(block.type)) continue;
    if (isContainerType(block.type)) checkBody(compilation, block, bodies.get(id) ?? []);
    else {
      checkType(compilation, block, similarTypes);
      checkRequiredFields(compilation, block);
    }
  }
}

function checkType(compilation: Compilation, block: Block, similarTypes: SimilarNames): void {
  if (compilation.runnableTypes.has(block.type)) return;
  const suggestion = compilation.types.has(block.type) ? undefined : similarTypes.findNearest(block.type);
  compilation.sink.push(
    diagnostic('BLOCK_TYPE_UNKNOWN', {
      blockId: block.id,
      path: ['blocks', block.id, 'type'],
      message: `No executor is registered for the type "${block.type}"; "${block.name}" fails when it is reached.`,
      hint: suggestion
        ? `Did you mean "${suggestion.name}"? Otherwise register an executor for the type, or add a mock.`
        : 'Register an executor for the type, or add a mock.',
    }),
  );
}

function checkRequiredFields(compilation: Compilation, block: Block): void {
  for (const name of compilation.types.get(block.type)?.required ?? []) {
    if (isEmpty(getOwn(block.fields, name)))
      reportEmptyField(compilation, block, { code: 'FIELD_REQUIRED', name });
  }
  const requiredField = REQUIRED_FIELDS.get(block.type);
  if (requiredField !== undefined && isEmpty(getOwn(block.fields, requiredField))) {
    reportEmptyField(compilation, block, { code: 'FIELD_EMPTY', name: requiredField });
  }
  checkOperation(compilation, block);
}

/** Reports fields and host data that the operation of a block requires but that are missing. */
function checkOperation(compilation: Compilation, block: Block): void {
  const { requiredFieldsByOperation, featureByOperation } = compilation.types.get(block.type) ?? {};
  if (!requiredFieldsByOperation) return;
  const operationValue = getOwn(block.fields, 'operation');
  const [defaultOperation = ''] = Object.keys(requiredFieldsByOperation);
  const operation = isEmpty(operationValue) ? defaultOperation : operationValue;
  // An operation with a reference is known only at run time. The executor reports unknown operations.
  if (typeof operation !== 'string') return;
  const name = operation.trim();
  for (const fields of (Object.hasOwn(requiredFieldsByOperation, name)
    ? requiredFieldsByOperation[name]
    : undefined) ?? [])
    checkAlternativeFields(compilation, block, { operation: name, fields });
  checkFeature(compilation, block, {
    operation: name,
    feature:
      featureByOperation && Object.hasOwn(featureByOperation, name) ? featureByOperation[name] : undefined,
  });
}

const FEATURE_TEXTS: { readonly [feature in HostFeature]: string } = {
  files: 'workspace files',
  knowledge: 'knowledge bases of the workspace',
};

function checkFeature(
  { sink, features, runnableTypes }: Compilation,
  block: Block,
  { operation, feature }: { operation: string; feature: HostFeature | undefined },
): void {
  if (feature === undefined || features.has(feature) || !runnableTypes.has(block.type)) return;
  sink.push(
    diagnostic('FEATURE_MISSING', {
      blockId: block.id,
      path: ['blocks', block.id, 'type'],
      message: `"${block.name}" fails when it is reached: its operation "${operation}" uses ${FEATURE_TEXTS[feature]}, which this host does not store.`,
      hint: 'Run the workflow in an engine whose host stores them, or add a mock.',
    }),
  );
}

function checkAlternativeFields(
  { sink }: Compilation,
  block: Block,
  { operation, fields }: { operation: string; fields: readonly string[] },
): void {
  const [name] = fields;
  if (name === undefined || fields.some((field) => !isEmpty(getOwn(block.fields, field)))) return;
  const alternatives = fields.slice(1).map((field) => ` or "${field}"`);
  sink.push(
    diagnostic('FIELD_EMPTY', {
      blockId: block.id,
      path: fieldLocation(block, name).path,
      message: `"${block.name}" has no value in "${name}"${alternatives.join('')}, which its operation "${operation}" needs.`,
      hint: `Fill it in, or set it on the command line: --set '${block.name}.${name}=VALUE'.`,
    }),
  );
}

function reportEmptyField(
  compilation: Compilation,
  block: Block,
  { code, name }: { code: DiagnosticCode; name: string },
): void {
  const { path } = fieldLocation(block, name);
  const message = `The field "${name}" of "${block.name}" is empty.`;
  compilation.sink.push(diagnostic(code, { blockId: block.id, path, message, hint: 'Fill it in.' }));
}

function checkBody({ structure, sink }: Compilation, block: Block, body: readonly ContainedBlock[]): void {
  if ((structure.regions.get(block.id)?.size ?? 0) > 0) return;
  const reason =
    body.length === 0
      ? 'it is empty'
      : body.some(({ enabled }) => enabled)
        ? 'no edge leads to any'
        : 'all are disabled';
  sink.push(
    diagnostic('CONTAINER_EMPTY', {
      blockId: block.id,
      path: ['blocks', block.id],
      message: `The ${block.type} "${block.name}" has no block inside that can run: ${reason}.`,
      hint: `Put a block into it, with an edge from the ${block.type} to the block.`,
    }),
  );
}

function isEmpty(value: Json | undefined): boolean {
  return (
    value == null ||
    (typeof value === 'string' && value.trim() === '') ||
    (Array.isArray(value) && value.length === 0)
  );
}

/**
 * Reports misspelled fields of a built-in block, and values that its executor does not accept. Values with references
 * are known only at run time.
 */
function checkFields(compilation: Compilation, block: Block, config: BlockConfig | undefined): void {
  const schema = BLOCK_FIELDS.get(block.type);
  if (!schema) return;
  const names = new SimilarNames(Object.keys(schema.shape));
  for (const [name, value] of Object.entries(block.fields)) {
    if (isBlank(value)) continue;
    const field = Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : undefined;
    if (!field) checkFieldName(compilation, block, { name, suggestion: names.findNearest(name) });
    else if (config?.params[name]?.kind === 'literal')
      checkFieldValue(compilation, block, { name, value, field });
  }
}

function checkFieldName(
  { sink }: Compilation,
  block: Block,
  { name, suggestion }: { name: string; suggestion: SimilarName | undefined },
): void {
  // If the similar field is set too, this one is not a misspelling.
  if (!suggestion || !isBlank(getOwn(block.fields, suggestion.name))) return;
  sink.push(
    diagnostic('FIELD_UNKNOWN', {
      blockId: block.id,
      path: ['blocks', block.id, 'subBlocks', name],
      message: `"${block.name}" has a field "${name}", which blocks of the type "${block.type}" do not read.`,
      hint: `Did you mean "${suggestion.name}"?`,
    }),
  );
}

function checkFieldValue(
  { sink }: Compilation,
  block: Block,
  { name, value, field }: { name: string; value: Json; field: z.ZodType },
): void {
  const result = field.safeParse(value);
  if (result.success) return;
  const expected = result.error.issues[0]?.message ?? 'another value';
  const options = expected.startsWith('one of ') ? expected.slice('one of '.length).split(', ') : [];
  const suggestion = typeof value === 'string' ? new SimilarNames(options).findNearest(value) : undefined;
  sink.push(
    diagnostic('FIELD_VALUE', {
      blockId: block.id,
      path: fieldLocation(block, name).path,
      message: `The field "${name}" of "${block.name}" is ${displayText(value)}; allowed: ${expected}.`,
      hint: suggestion ? `Did you mean "${suggestion.name}"?` : 'Correct the value.',
    }),
  );
}

function displayText(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

type Path = (string | number)[];

/** `json`: text in the field is JSON. `text`: text is JSON only if it begins like an object or a list. */
type JsonUse = 'json' | 'text';

/** Fields that blocks read as JSON, by block type. */
const JSON_FIELDS: { readonly [type: string]: { readonly [field: string]: JsonUse } } = {
  api: { params: 'json', headers: 'json', body: 'text' },
  function: { mountedSecrets: 'json' },
  human_in_the_loop: { inputFormat: 'json', builderData: 'json' },
  response: { data: 'json', builderData: 'json', headers: 'json' },
  variables: { variables: 'json' },
  webhook_request: { headers: 'json', body: 'text' },
  workflow: { input: 'text' },
  workflow_input: { input: 'text', inputMapping: 'json' },
};

/** Types of `{type, value}` rows whose value may be JSON text. */
const JSON_TYPES: ReadonlySet<Json | undefined> = new Set(['object', 'array', 'file[]']);

/** Reports fields that are read as JSON but whose text is not JSON for any values of its references. */
export function checkJsonFields({ sink }: Compilation, blocks: ReadonlyMap<string, BlockConfig>): void {
  for (const block of blocks.values()) {
    const fields =
      !block.trigger && Object.hasOwn(JSON_FIELDS, block.type) ? JSON_FIELDS[block.type] : undefined;
    for (const [name, use] of Object.entries(fields ?? {})) {
      const template = Object.hasOwn(block.params, name) ? block.params[name] : undefined;
      const paths = template && isReadAsJson(block, name) ? invalidJsonPaths(template, use) : [];
      for (const path of paths) sink.push(fieldNotJsonDiagnostic(block, name, path));
    }
  }
}

function fieldNotJsonDiagnostic(block: BlockConfig, name: string, path: Path): ReturnType<typeof diagnostic> {
  return diagnostic('FIELD_NOT_JSON', {
    blockId: block.id,
    path: ['blocks', block.id, 'subBlocks', name, 'value', ...path],
    message: `The field "${name}" of "${block.name}" is read as JSON, but its text is not JSON for any value of its references; it stays text.`,
    hint: 'Correct the JSON. A reference in quotes is a string, one without quotes keeps its type.',
  });
}

/** Returns false for fields that the block's settings disable, and for bodies whose content type is not JSON. */
function isReadAsJson({ type, params }: BlockConfig, name: string): boolean {
  if (type === 'response' && name !== 'headers')
    return (name === 'data') === (literalValue(params['dataMode']) === 'json');
  return name !== 'body' || /^$|json/i.test(contentType(params['headers']));
}

/** Returns the authored Content-Type header, or ''. */
function contentType(headers: Template | undefined): string {
  const rows = headers && templateItems(headers);
  const pairs = rows
    ? rows.map((row) => {
        const cells = templateFields(templateFields(row)?.get('cells') ?? row);
        return [literalText(cells?.get('Key')), literalText(cells?.get('Value'))] as const;
      })
    : [...((headers && templateFields(headers)) ?? [])].map(
        ([key, value]) => [key, literalText(value)] as const,
      );
  return pairs.find(([key]) => key.toLowerCase() === 'content-type')?.[1] ?? '';
}

/** Returns the authored text of a field without references, else ''. */
function literalText(template: Template | undefined): string {
  const value = literalValue(template);
  return typeof value === 'string' ? value : '';
}

function literalValue(template: Template | undefined): Json | undefined {
  return template?.kind === 'literal' ? template.value : undefined;
}

/** Returns the paths of strings in a field that should be JSON and are not. An empty path is the field itself. */
function invalidJsonPaths(template: Template, use: JsonUse): Path[] {
  const firstPart = template.kind === 'text' ? template.parts[0] : literalValue(template);
  if (template.kind === 'text' || typeof firstPart === 'string')
    return isMeantAsJson(firstPart, use) && !isJsonText(template) ? [[]] : [];
  const rows = templateItems(template) ?? [];
  return rows.flatMap((row, index) => {
    const fields = templateFields(row);
    const value = fields?.get('value');
    const isJson = value !== undefined && JSON_TYPES.has(literalValue(fields?.get('type')));
    return isJson ? invalidJsonPaths(value, 'json').map((path): Path => [index, 'value', ...path]) : [];
  });
}

/** Returns true if a text is intended as JSON. `firstPart` is not a string if the text begins with a reference. */
function isMeantAsJson(firstPart: unknown, use: JsonUse): boolean {
  if (typeof firstPart !== 'string') return use === 'json';
  return use === 'json' ? firstPart.trim() !== '' : /^\s*[[{]/.test(firstPart);
}

/** Keys of a start's output that control the run. */
const CONTROL_FIELDS = new Set(['error', 'selectedOption', 'selectedRoute', '_pauseMetadata']);

/** Reports fields of input formats that have a reserved name. */
export function checkStartFields({ structure, sink }: Compilation, starts: readonly string[]): void {
  for (const id of starts) {
    const { block } = structure.containedBlocks.get(id) as ContainedBlock;
    if (block.type === 'chat_trigger') continue;
    const hasMetadata = getOwn(block.fields, 'runMetadata') === true;
    for (const { name, index } of inputFields(getOwn(block.fields, 'inputFormat'))) {
      if (!CONTROL_FIELDS.has(name) && !(hasMetadata && name === 'metadata')) continue;
      sink.push(
        diagnostic('START_FIELD_RESERVED', {
          blockId: id,
          path: ['blocks', id, 'subBlocks', 'inputFormat', 'value', index, 'name'],
          message: `The input format of "${block.name}" has a field with the reserved name "${name}".`,
          hint: 'Rename the field.',
        }),
      );
    }
  }
}
