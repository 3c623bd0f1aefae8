/**
 * Returns a workflow id as an item of a call chain. The chain is sent as a comma-separated HTTP header, whose items can
 * contain neither commas nor non-ASCII characters.
 */
export function toCallChainItem(workflowId: string): string {
  // Ids can come from files, so they can contain any characters.
  return encodeURIComponent(workflowId.toWellFormed());
}
