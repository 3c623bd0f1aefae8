/**
 * Returns whether an error shows that a record is not JSON or has values of wrong types. The message of such an error
 * may quote the record.
 */
export function isCorruptRecord(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError;
}
