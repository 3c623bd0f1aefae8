import { coerceAtStart, coerceOnRead } from '../schema/coerce.ts';
import type { Variable } from '../schema/workflow.ts';
import type { VariableConfig } from './plan.ts';

/** The variables of a plan, by id, with their values at the start of a run. */
export function compileVariables(variables: readonly Variable[]): VariableConfig[] {
  return variables
    .map(({ id, name, type, value }) => ({
      id,
      name,
      type,
      value: coerceOnRead(type, coerceAtStart(type, value)),
    }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
