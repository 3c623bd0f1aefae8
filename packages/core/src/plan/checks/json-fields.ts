import type { Json } from '../../json.ts';
import { isJsonText, templateFields, templateItems } from '../../refs/json-text.ts';
import type { Template } from '../../refs/template.ts';
import { diagnostic } from '../codes.ts';
import type { Compilation } from '../compilation.ts';
import type { BlockConfig } from '../plan.ts';

type Path = (string | number)[];

/** `json`: text in the field is meant as JSON. `text`: only text that begins like an object or a list is. */
type Meaning = 'json' | 'text';

/** Fields that their blocks read as JSON, by type of block. */
const FIELDS: { readonly [type: string]: { readonly [field: string]: Meaning } } = {
  api: { params: 'json', headers: 'json', body: 'text' },
  function: { mountedSecrets: 'json' },
  human_in_the_loop: { inputFormat: 'json', builderData: 'json' },
  response: { data: 'json', builderData: 'json', headers: 'json' },
  variables: { variables: 'json' },
  workflow: { input: 'text' },
  workflow_input: { input: 'text', inputMapping: 'json' },
};

/** Types of rows `{type, value}` whose value may be JSON text. */
const JSON_TYPES: ReadonlySet<Json | undefined> = new Set(['object', 'array', 'file[]']);

/** Warns of text that is read as JSON and is none, whatever values its references bring in. */
export function checkJsonFields({ found }: Compilation, blocks: ReadonlyMap<string, BlockConfig>): void {
  for (const block of blocks.values()) {
    const fields = !block.trigger && Object.hasOwn(FIELDS, block.type) ? FIELDS[block.type] : undefined;
    for (const [name, meaning] of Object.entries(fields ?? {})) {
      const template = Object.hasOwn(block.params, name) ? block.params[name] : undefined;
      const faults = template && isRead(block, name) ? faultsIn(template, meaning) : [];
      for (const path of faults) found.push(notJson(block, name, path));
    }
  }
}

function notJson(block: BlockConfig, name: string, path: Path): ReturnType<typeof diagnostic> {
  return diagnostic('FIELD_NOT_JSON', {
    blockId: block.id,
    path: ['blocks', block.id, 'subBlocks', name, 'value', ...path],
    message: `The field "${name}" of "${block.name}" is read as JSON, and holds text that is none, whatever its references bring in: the text stays text.`,
    hint: 'Correct the JSON. A reference in quotes is a text, one without quotes has its own type.',
  });
}

/** False for fields that the settings of the block leave out, and for bodies of another content type. */
function isRead({ type, params }: BlockConfig, name: string): boolean {
  if (type === 'response' && name !== 'headers')
    return (name === 'data') === (literal(params['dataMode']) === 'json');
  return name !== 'body' || /^$|json/i.test(contentType(params['headers']));
}

/** The authored Content-Type header; '' when there is none. */
function contentType(headers: Template | undefined): string {
  const rows = headers && templateItems(headers);
  const pairs = rows
    ? rows.map((row) => {
        const cell = templateFields(templateFields(row)?.get('cells') ?? row);
        return [textOf(cell?.get('Key')), textOf(cell?.get('Value'))] as const;
      })
    : [...((headers && templateFields(headers)) ?? [])].map(([key, value]) => [key, textOf(value)] as const);
  return pairs.find(([key]) => key.toLowerCase() === 'content-type')?.[1] ?? '';
}

/** The authored text of a field without references; '' for any other. */
function textOf(template: Template | undefined): string {
  const value = literal(template);
  return typeof value === 'string' ? value : '';
}

function literal(template: Template | undefined): Json | undefined {
  return template?.kind === 'literal' ? template.value : undefined;
}

/** Where in a field there is text that is no JSON; an empty path is the field itself. */
function faultsIn(template: Template, meaning: Meaning): Path[] {
  const first = template.kind === 'text' ? template.parts[0] : literal(template);
  if (template.kind === 'text' || typeof first === 'string')
    return isMeant(first, meaning) && !isJsonText(template) ? [[]] : [];
  const rows = templateItems(template) ?? [];
  return rows.flatMap((row, index) => {
    const fields = templateFields(row);
    const value = fields?.get('value');
    const typed = value !== undefined && JSON_TYPES.has(literal(fields?.get('type')));
    return typed ? faultsIn(value, 'json').map((path): Path => [index, 'value', ...path]) : [];
  });
}

/** Whether a text is meant as JSON, by its first part; a reference counts as any text. */
function isMeant(first: unknown, meaning: Meaning): boolean {
  if (typeof first !== 'string') return meaning === 'json';
  return meaning === 'json' ? first.trim() !== '' : /^\s*[[{]/.test(first);
}
