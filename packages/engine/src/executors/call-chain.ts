/**
 * Returns a workflow as it appears in a call chain. An entry of the HTTP header can contain neither commas nor
 * non-ASCII characters.
 */
export function inCallChain(workflowId: string): string {
  // Ids can come from files.
  return encodeURIComponent(workflowId.toWellFormed());
}
