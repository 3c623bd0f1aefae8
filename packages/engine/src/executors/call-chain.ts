/**
 * Returns the entry of a workflow in a call chain. An entry of the HTTP header can contain neither commas nor
 * non-ASCII characters.
 */
export function inCallChain(workflowId: string): string {
  // Ids can come from files, so they can contain any characters.
  return encodeURIComponent(workflowId.toWellFormed());
}
