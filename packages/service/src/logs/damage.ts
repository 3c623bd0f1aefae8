/** True for the errors of reading a record that is not JSON, or has values of other types. Their messages may quote what is stored. */
export function isDamage(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError;
}
