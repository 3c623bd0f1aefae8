import { Link } from '@tanstack/react-router';

/** A link to a run. Its label is the end of the id, because ids from about the same time begin alike. */
export function RunLink({ runId }: { runId: string }) {
  return (
    <Link to="/runs/$runId" params={{ runId }} search={{}} className="mono" title={runId}>
      <bdi>{runId.slice(-8)}</bdi>
    </Link>
  );
}
