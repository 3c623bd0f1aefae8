import { BlockError, own } from '@heddle/core/blocks';
import type { BlockResult, Json, VariableConfig } from '@heddle/core/blocks';
import type { EngineContext, EngineExecutor } from './services.ts';
import { asRows, asText } from './values.ts';
import { assignedValue, coerceVariable } from './variable-values.ts';

/** Sets workflow variables; a name that is no variable stands in the output only. */
export const variablesExecutor: EngineExecutor = {
  types: ['variables'],
  class: 'compute',
  execute: (context) => assign(context),
};

function assign(context: EngineContext): BlockResult {
  const rows = asRows(context.field('variables'));
  if (rows === undefined)
    throw new BlockError('BLOCK_CONFIG_INVALID', 'The assignments of the variables block are no list.', {
      retryable: false,
    });
  // From the last to the first, so that the first of two equal names counts.
  const variables = context.services.run.variables.toReversed();
  const byId = new Map<Json | undefined, VariableConfig>(variables.map((each) => [each.id, each]));
  const byName = new Map(variables.map((each) => [each.name, each]));
  const output = new Map<string, Json>();
  const set = new Map<string, Json>();
  for (const row of rows) {
    const variable = byId.get(own(row, 'variableId')) ?? byName.get(asText(own(row, 'variableName')).trim());
    const name = asText(own(row, 'variableName')).trim() || variable?.name;
    if (name === undefined) continue;
    const value = assignedValue(name, asText(own(row, 'type')) || 'string', own(row, 'value'));
    output.set(name, value);
    if (variable !== undefined) set.set(variable.id, coerceVariable(variable.type, value));
  }
  return { output: Object.fromEntries(output), set: Object.fromEntries(set) };
}
