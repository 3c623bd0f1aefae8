import type { BlockTypeInfo } from '@heddle/core/blocks';
import type { HostFeature } from '@heddle/core/drafts';
import { NEEDED_FIELDS } from './needed-fields.ts';

/** Operations of file blocks that need files of the workspace. Others can also read files of the run or at addresses. */
const WORKSPACE_FILES: ReadonlySet<string> = new Set([
  'file_list',
  'file_write',
  'file_append',
  'file_edit',
  'file_insert',
  'file_move',
]);

function featureOf(type: string, operation: string): HostFeature | undefined {
  if (type === 'knowledge') return 'knowledge';
  return /^file(?:_v\d)?$/.test(type) && WORKSPACE_FILES.has(operation) ? 'files' : undefined;
}

/**
 * Returns the types of integrations with the fields that their operations need, for checks of workflows. It comes from a table,
 * so that a check loads no definitions.
 */
export function integrationTypeInfos(): BlockTypeInfo[] {
  return Object.entries(NEEDED_FIELDS).map(([type, text]) => {
    const operations = text.split('; ').map((operation) => {
      const [name = '', ...fields] = operation.split(' ');
      return { name, feature: featureOf(type, name), fields: fields.map((field) => field.split('|')) };
    });
    const uses = operations.flatMap(({ name, feature }) => (feature ? [[name, feature] as const] : []));
    return {
      ...{ type, class: 'effect' },
      needs: Object.fromEntries(operations.map(({ name, fields }) => [name, fields])),
      ...(uses.length > 0 && { uses: Object.fromEntries(uses) }),
    };
  });
}
