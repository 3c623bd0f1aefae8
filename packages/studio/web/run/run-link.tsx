import { Link } from '@tanstack/react-router';

/** A link to a run, by the beginning of its id. */
export function RunLink({ runId }: { runId: string }) {
  return (
    <Link to="/runs/$runId" params={{ runId }} search={{}} className="mono" title={runId}>
      <bdi>{runId.slice(0, 8)}</bdi>
    </Link>
  );
}
