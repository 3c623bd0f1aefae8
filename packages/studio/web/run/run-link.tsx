import { Link } from '@tanstack/react-router';

/** A link to a run, labelled with the end of its id, because the beginning is the time. */
export function RunLink({ runId }: { runId: string }) {
  return (
    <Link to="/runs/$runId" params={{ runId }} search={{}} className="mono" title={runId}>
      <bdi>{runId.slice(-8)}</bdi>
    </Link>
  );
}
