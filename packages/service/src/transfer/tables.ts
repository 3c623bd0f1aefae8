/** The receipt of an operation that changed a workspace. */
export interface ReceiptRow {
  id: string;
  workspace_id: string;
  /** Chosen by the caller; unique within the workspace. */
  request_id: string;
  kind: string;
  /** SHA-256 of the request. */
  request_hash: string;
  /** The report of the operation for callers, as JSON; empty until the end of its transaction. */
  report: string;
  /** The response of the operation, as JSON; empty until the end of its transaction. */
  result: string;
  /** ISO 8601, UTC. */
  created_at: string;
}

export interface ReceiptTables {
  operation_receipts: ReceiptRow;
}
