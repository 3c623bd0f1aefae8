import type { BlockTypeInfo } from '@heddle/core/blocks';
import { NEEDED_FIELDS } from './needed-fields.ts';

/**
 * Returns the types of integrations with the fields that their operations need, for checks of workflows. It comes from a table,
 * so that a check loads no definitions.
 */
export function integrationTypeInfos(): BlockTypeInfo[] {
  return Object.entries(NEEDED_FIELDS).map(([type, text]) => ({
    type,
    class: 'effect',
    needs: Object.fromEntries(
      text.split('; ').map((operation) => {
        const [name = '', ...fields] = operation.split(' ');
        return [name, fields.map((field) => field.split('|'))];
      }),
    ),
  }));
}
