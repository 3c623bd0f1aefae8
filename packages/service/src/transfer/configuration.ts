import type { Json } from '@heddle/core/blocks';
import { badRequest } from '@heddle/api/areas';
import { fieldsOf, isEmpty } from './graph.ts';
import type { Field, PortableGraph } from './graph.ts';
import type { KindName } from './kinds.ts';

/** A field whose values depend on a reference, such as a channel of an account. */
export interface ConfigurationField {
  blockId: string;
  subBlockKey: string;
  title: string;
  /** True if the block cannot run without the field. */
  required: boolean;
  configured: boolean;
  /** Present if `dependentValues` can have several ids, separated by commas. */
  multiSelect?: true;
  /** The targets of the references on which the field's values depend, by name, such as `tableId`. */
  context: { [name: string]: string };
  requiresAuthentication: boolean;
}

/** The caller's value of a field whose values depend on a reference. */
export interface DependentValue {
  blockId: string;
  subBlockKey: string;
  value: string;
}

/** The kinds of resources on which the values of a field depend, by the type of the field. */
const PARENT_KINDS: { readonly [type: string]: readonly KindName[] | undefined } = {
  'channel-selector': ['credential'],
  'column-selector': ['table'],
  'document-selector': ['knowledge-base'],
  'document-tag-entry': ['knowledge-base'],
  'file-selector': ['credential'],
  'folder-selector': ['credential'],
  'knowledge-tag-filters': ['knowledge-base'],
  'mcp-tool-selector': ['mcp-server'],
  'project-selector': ['credential'],
  'sheet-selector': ['credential'],
  'user-selector': ['credential'],
};

/** The names of targets in `ConfigurationField.context`, by kind. */
const CONTEXT_NAMES: { readonly [K in KindName]?: string } = {
  credential: 'oauthCredential',
  'knowledge-base': 'knowledgeBaseId',
  'mcp-server': 'mcpServerId',
  table: 'tableId',
};

/** The targets of a block's references, and the kinds whose targets differ from those in the file. */
export interface BlockTargets {
  targets: ReadonlyMap<KindName, string>;
  changedKinds: ReadonlySet<KindName>;
}

/**
 * Returns the new values of the fields whose values depend on a reference: the values of the caller, and null for a
 * field whose reference has a new target. Throws 400 for a value of another field, or for two values of one field.
 */
export function dependentChanges(
  graph: PortableGraph,
  values: readonly DependentValue[] | undefined,
  targetsOf: (blockId: string) => BlockTargets | undefined,
): Map<string, Map<string, Json>> {
  const requestedValues = valuesByField(values ?? []);
  const changes = new Map<string, Map<string, Json>>();
  const change = ({ blockId, key }: Field, value: Json): void => {
    changes.set(blockId, (changes.get(blockId) ?? new Map<string, Json>()).set(key, value));
  };
  for (const field of fieldsOf(graph)) {
    const parentKinds = parentKindsOf(field);
    if (!parentKinds) continue;
    const key = JSON.stringify([field.blockId, field.key]);
    const value = requestedValues.get(key);
    requestedValues.delete(key);
    const isStale = parentKinds.some((kind) => targetsOf(field.blockId)?.changedKinds.has(kind));
    if (value !== undefined) change(field, Array.isArray(field.value) ? value.split(',') : value);
    else if (isStale && !isEmpty(field.value)) change(field, null);
  }
  const [unknownKey] = requestedValues.keys();
  if (unknownKey === undefined) return changes;
  const [blockId, key] = JSON.parse(unknownKey) as [string, string];
  throw badRequest(
    `dependentValues: "${key.slice(0, 100)}" of block "${blockId.slice(0, 100)}" is not a field whose values depend on a reference`,
  );
}

/** Returns the fields of the graph whose values depend on a reference. */
export function configurationOf(
  graph: PortableGraph,
  targetsOf: (blockId: string) => BlockTargets | undefined,
): ConfigurationField[] {
  return [...fieldsOf(graph)].flatMap((field): ConfigurationField[] => {
    const parentKinds = parentKindsOf(field);
    if (!parentKinds) return [];
    const targets = targetsOf(field.blockId)?.targets;
    const context = parentKinds.flatMap((kind): [string, string][] => {
      const target = targets?.get(kind);
      const name = CONTEXT_NAMES[kind];
      return target === undefined || name === undefined ? [] : [[name, target]];
    });
    return [
      {
        blockId: field.blockId,
        subBlockKey: field.key,
        title: titleOf(field.key),
        required: field.type === 'mcp-tool-selector' && field.blockType === 'mcp',
        configured: !isEmpty(field.value),
        ...(Array.isArray(field.value) && { multiSelect: true as const }),
        context: Object.fromEntries(context),
        requiresAuthentication: parentKinds.includes('credential') || parentKinds.includes('mcp-server'),
      },
    ];
  });
}

function parentKindsOf({ type }: Field): readonly KindName[] | undefined {
  return Object.hasOwn(PARENT_KINDS, type) ? PARENT_KINDS[type] : undefined;
}

function valuesByField(values: readonly DependentValue[]): Map<string, string> {
  const valueByField = new Map<string, string>();
  for (const { blockId, subBlockKey, value } of values) {
    const key = JSON.stringify([blockId, subBlockKey]);
    if (valueByField.has(key) && valueByField.get(key) !== value)
      throw badRequest(
        `dependentValues has two values for "${subBlockKey.slice(0, 100)}" of block "${blockId.slice(0, 100)}": send one`,
      );
    valueByField.set(key, value);
  }
  return valueByField;
}

/** Returns the words of a key: "Label selector" for "labelSelector". */
function titleOf(key: string): string {
  const words = key.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
