import { BlockError, own } from '@heddle/core/blocks';
import type { BlockResult, Json, JsonObject, VariableConfig } from '@heddle/core/blocks';
import type { EngineContext, EngineExecutor } from './services.ts';
import { asRows, asText } from './values.ts';
import { assignedValue, heldValue } from './variable-values.ts';

/** Sets workflow variables; a name that is no variable stands in the output only. */
export const variablesExecutor: EngineExecutor = {
  types: ['variables'],
  class: 'compute',
  execute: (context) => assign(context),
};

function assign(context: EngineContext): BlockResult {
  const rows = asRows(context.field('variables', 'native'));
  if (rows === undefined)
    throw new BlockError('BLOCK_CONFIG_INVALID', 'The assignments of the variables block are no list.', {
      retryable: false,
    });
  const { variables } = context.services.run;
  const output = new Map<string, Json>();
  const set = new Map<string, Json>();
  for (const row of rows) {
    const variable = findVariable(row, variables);
    const name = asText(own(row, 'variableName')).trim() || variable?.name;
    if (name === undefined) continue;
    const value = assignedValue(name, asText(own(row, 'type')) || 'string', own(row, 'value'));
    output.set(name, value);
    if (variable !== undefined) set.set(variable.id, heldValue(variable.type, value));
  }
  return { output: Object.fromEntries(output), set: Object.fromEntries(set) };
}

function findVariable(row: JsonObject, variables: readonly VariableConfig[]): VariableConfig | undefined {
  const id = own(row, 'variableId');
  const name = asText(own(row, 'variableName')).trim();
  return (
    variables.find((variable) => variable.id === id) ?? variables.find((variable) => variable.name === name)
  );
}
