import type { ZodType } from 'zod';

/** Throws a RangeError if the value does not match the schema of `field`. The message does not contain the value. */
export function requireValid(field: string, schema: ZodType, value: unknown): void {
  const result = schema.safeParse(value);
  if (!result.success) throw new RangeError(`The ${field} is invalid: ${result.error.issues[0]?.message}.`);
}
