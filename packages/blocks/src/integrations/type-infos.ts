import type { BlockTypeInfo } from '@heddle/core';
import type { HostFeature } from '@heddle/core/drafts';
import { NEEDED_FIELDS } from './needed-fields.ts';

/**
 * Returns the types of integrations with the fields that their operations need, for checks of workflows. The fields
 * come from a table, so that a check loads no definitions.
 */
export function integrationTypeInfos(): BlockTypeInfo[] {
  return Object.entries(NEEDED_FIELDS).map(([type, neededFields]) => {
    const operations = neededFields.split('; ').map((operation) => {
      const [head = '', ...fields] = operation.split(' ');
      const [name, feature] = head.split('@') as [string, HostFeature?];
      return { name, feature, fields: fields.map((field) => field.split('|')) };
    });
    const uses = operations.flatMap(({ name, feature }) => (feature ? [[name, feature] as const] : []));
    return {
      ...{ type, class: 'effect' },
      needs: Object.fromEntries(operations.map(({ name, fields }) => [name, fields])),
      ...(uses.length > 0 && { uses: Object.fromEntries(uses) }),
    };
  });
}
