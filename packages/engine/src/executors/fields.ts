import { isJsonObject, getOwn, resolveTemplate } from '@heddle/core/blocks';
import type { Json, Lookup, Template } from '@heddle/core/blocks';
import {
  jsonStructure,
  resolveJson,
  templateFields,
  templateItems,
  findSingleHole,
} from '@heddle/core/fields';
import type { ResolveMode } from '@heddle/core/fields';
import { readUrl } from './api/url.ts';
import { readBody } from './api/body.ts';
import { readBuilder } from './response-builder.ts';
import type { FieldReader, FieldContext } from './services.ts';

/**
 * Reads an SQL statement as a list: its authored strings, and `{value}` in place of each reference or placeholder, so
 * that values can be bound.
 */
const readStatement: FieldReader = (template, { lookup }) => {
  const singleHole = findSingleHole(template);
  if (singleHole || template.kind !== 'text')
    return resolveTemplate(singleHole ?? template, lookup, 'native');
  return template.parts.map((part) => {
    if (typeof part === 'string') return part;
    const hole: Template = { kind: 'text', parts: [part] };
    return { value: resolveTemplate(hole, lookup, 'ref' in part ? 'json' : 'text') };
  });
};
const readJson: FieldReader = (template, { lookup }) => resolveJson(template, lookup);
const readRows: FieldReader = (template, { lookup }) => resolveJson(template, lookup, 'text');

/**
 * Readers of fields with a structure, such as JSON, URLs and SQL statements, by block type. Other fields are resolved
 * in the mode that the executor requests.
 */
const READERS: { readonly [type: string]: { readonly [field: string]: FieldReader } } = {
  api: { url: readUrl, params: readJson, headers: readJson, body: readBody },
  webhook_request: { url: readUrl, headers: readJson, body: readBody },
  response: { data: readJson, builderData: readBuilder, headers: readJson },
  function: { mountedSecrets: readJson },
  file: { filePath: readUrl },
  file_v2: { filePath: readUrl },
  file_v3: { fileUrl: readUrl },
  file_v4: { fileUrl: readUrl, headers: readJson },
  file_v5: { fileUrl: readUrl, headers: readJson },
  human_in_the_loop: { inputFormat: typedRowsReader('text'), builderData: readRows },
  postgresql: { query: readStatement, where: readStatement },
  variables: { variables: typedRowsReader('native') },
  workflow: { input: readChildInput },
  workflow_input: { input: readChildInput, inputMapping: readJson },
};

/** Returns the reader of a field; undefined if the field has no structure. */
export function fieldReader(type: string, name: string): FieldReader | undefined {
  const readers = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  return readers && Object.hasOwn(readers, name) ? readers[name] : undefined;
}

/** Reads the input of a child: an object, possibly as JSON text; other text is the input itself. */
function readChildInput(template: Template, { lookup }: FieldContext): Json {
  const value = resolveJson(template, lookup);
  return isJsonObject(value)
    ? value
    : resolveTemplate(findSingleHole(template) ?? template, lookup, 'native');
}

const JSON_TYPES: ReadonlySet<Json> = new Set(['object', 'array', 'file[]']);

/**
 * Returns a reader of a list of rows `{type, value, …}`. In a row of the type `object`, `array` or `file[]`, the value
 * may be JSON text.
 */
function typedRowsReader(mode: 'text' | 'native'): FieldReader {
  return (template, { lookup }) => {
    const structure = jsonStructure(template, lookup);
    const rows = templateItems(structure);
    const rowMode = template.kind === 'text' ? 'json' : mode;
    return rows
      ? rows.map((row) => readTypedRow(row, lookup, rowMode))
      : resolveTemplate(structure, lookup, rowMode);
  };
}

function readTypedRow(row: Template, lookup: Lookup, mode: ResolveMode): Json {
  const resolvedRow = resolveTemplate(row, lookup, mode);
  const value = templateFields(row)?.get('value');
  const isJson = isJsonObject(resolvedRow) && JSON_TYPES.has(getOwn(resolvedRow, 'type') ?? null);
  return isJson && value !== undefined ? { ...resolvedRow, value: resolveJson(value, lookup) } : resolvedRow;
}
