/** The receipt of an operation that changed a workspace. */
export interface ReceiptRow {
  id: string;
  workspace_id: string;
  /** Chosen by the caller; unique within the workspace. */
  request_id: string;
  kind: string;
  /** SHA-256 of the request, without its id. */
  request_hash: string;
  /** What the operation answered, as JSON. */
  result: string;
  /** ISO 8601, UTC. */
  created_at: string;
}

export interface ReceiptTables {
  operation_receipts: ReceiptRow;
}
