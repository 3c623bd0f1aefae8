import type { Json, JsonObject } from '@heddle/core';
import * as z from 'zod';
import { objectOr } from './containers.ts';

/** Maximum number of variables of a draft. */
const MAX_VARIABLES = 1000;
/** Maximum number of operations of a request. */
const MAX_OPERATIONS = 100;

const name = z.string().trim().min(1).max(255);
const type = z.enum(['string', 'number', 'boolean', 'object', 'array', 'plain']);
const value = z.unknown();

export const variablesBody = z.strictObject({
  operations: z
    .array(
      z.discriminatedUnion('operation', [
        z.strictObject({ operation: z.literal('add'), name, type, value }),
        z.strictObject({ operation: z.literal('edit'), name, type: type.optional(), value }),
        z.strictObject({ operation: z.literal('delete'), name }),
      ]),
    )
    .min(1)
    .max(MAX_OPERATIONS),
});

export type VariableOperation = z.output<typeof variablesBody>['operations'][number];
type VariableType = z.output<typeof type>;

/** A request that cannot be applied to the variables of the draft. */
export class VariableError extends Error {
  override readonly name = 'VariableError';
}

/**
 * Applies the operations in their order. Variables are found by name. The given variables are not changed.
 *
 * @returns the variables by id, and whether they differ from before.
 * @throws {VariableError} when a variable to add exists already, one to edit does not, or there would be too many.
 */
export function applyVariables(
  before: JsonObject,
  operations: readonly VariableOperation[],
  newId: () => string,
): { variables: JsonObject; changed: boolean } {
  const variables = new Map(Object.entries(before));
  const idOf = new Map([...variables].map(([id, stored]) => [objectOr(stored)['name'], id]));
  let changed = false;
  for (const operation of operations) {
    const id = idOf.get(operation.name);
    if (operation.operation === 'delete') {
      if (id === undefined) continue;
      variables.delete(id);
      idOf.delete(operation.name);
      changed = true;
      continue;
    }
    const next = stored(operation, { id, before: id === undefined ? undefined : variables.get(id), newId });
    const same = id !== undefined && JSON.stringify(next) === JSON.stringify(variables.get(id));
    if (same) continue;
    const key = String(next['id']);
    variables.set(key, next);
    idOf.set(operation.name, key);
    changed = true;
  }
  if (variables.size > MAX_VARIABLES)
    throw new VariableError(`A draft has at most ${MAX_VARIABLES} variables`);
  return { variables: Object.fromEntries(variables), changed };
}

function stored(
  operation: Exclude<VariableOperation, { operation: 'delete' }>,
  { id, before, newId }: { id: string | undefined; before: Json | undefined; newId: () => string },
): JsonObject & { id: string } {
  if (operation.operation === 'add' && id !== undefined) {
    throw new VariableError(`There is a variable named "${operation.name}" already. Edit it.`);
  }
  if (operation.operation === 'edit' && id === undefined) {
    throw new VariableError(`There is no variable named "${operation.name}". Add it.`);
  }
  const kept = objectOr(before);
  const wanted = operation.type ?? knownType(kept['type']);
  return {
    ...kept,
    id: id ?? newId(),
    name: operation.name,
    type: wanted,
    value: coerced(operation.value as Json, wanted),
  };
}

function knownType(stored: Json | undefined): VariableType {
  const read = type.safeParse(stored);
  return read.success ? read.data : 'string';
}

/** Returns the value converted to the type; unchanged if it cannot be converted. */
export function coerced(given: Json | undefined, wanted: VariableType): Json {
  const sent = given ?? null;
  if (wanted === 'number') return numberOf(sent);
  if (wanted === 'boolean') return sent === 'true' ? true : sent === 'false' ? false : sent;
  if (wanted === 'object' || wanted === 'array') return structureOf(sent, wanted);
  if (typeof sent === 'string' || sent === null) return sent;
  return typeof sent === 'object' ? JSON.stringify(sent) : String(sent);
}

function numberOf(sent: Json): Json {
  if (typeof sent !== 'string' || sent.trim() === '') return sent;
  const read = Number(sent);
  return Number.isFinite(read) ? read : sent;
}

function structureOf(sent: Json, wanted: 'object' | 'array'): Json {
  if (typeof sent !== 'string') return sent;
  try {
    const read = JSON.parse(sent) as Json;
    const fits = wanted === 'array' ? Array.isArray(read) : isObject(read);
    return fits ? read : sent;
  } catch {
    return sent;
  }
}

function isObject(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
