/** Returns whether an error shows a record that is not JSON, or has values of other types. Its message may quote the record. */
export function isDamage(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError;
}
