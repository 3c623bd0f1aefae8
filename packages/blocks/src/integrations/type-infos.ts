import type { BlockTypeInfo } from '@heddle/core';
import type { HostFeature } from '@heddle/core/drafts';
import { REQUIRED_FIELDS } from './required-fields.ts';

/**
 * Returns the types of integrations with the fields that their operations need, for checks of workflows. The fields
 * come from a table, so that a check loads no definitions.
 */
export function integrationTypeInfos(): BlockTypeInfo[] {
  return Object.entries(REQUIRED_FIELDS).map(([type, requiredFields]) => {
    const operations = requiredFields.split('; ').map((operation) => {
      const [operationAndFeature = '', ...fields] = operation.split(' ');
      const [name, feature] = operationAndFeature.split('@') as [string, HostFeature?];
      return { name, feature, fields: fields.map((field) => field.split('|')) };
    });
    const features = operations.flatMap(({ name, feature }) => (feature ? [[name, feature] as const] : []));
    return {
      ...{ type, class: 'effect' },
      requiredFieldsByOperation: Object.fromEntries(operations.map(({ name, fields }) => [name, fields])),
      ...(features.length > 0 && { featureByOperation: Object.fromEntries(features) }),
    };
  });
}
