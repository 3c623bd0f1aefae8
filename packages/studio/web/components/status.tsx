const LABELS: { readonly [status: string]: string } = {
  completed: 'Completed',
  failed: 'Failed',
  running: 'Running',
  paused: 'Paused',
  pending: 'Waiting',
  queued: 'Queued',
  redacting: 'Running',
  cancelled: 'Cancelled',
};

/** A status as a coloured mark with its name, so that colour is never the only indicator. */
export function Status({ status }: { status: string }) {
  return (
    <span className="status" data-status={status}>
      <span className="status-mark" aria-hidden="true" />
      {LABELS[status] ?? status}
    </span>
  );
}
