import { Link } from '@tanstack/react-router';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { Empty, FailedPage } from '../parts/notice.tsx';

export function NotFound() {
  return (
    <div className="page">
      <h1>Unknown page</h1>
      <Empty title="There is no such page">
        <Link to="/runs" search={{}}>
          Go to the runs
        </Link>
      </Empty>
    </div>
  );
}

export function PageFailed({ error, reset }: ErrorComponentProps) {
  return (
    <FailedPage
      what="Heddle"
      error={error instanceof Error ? error : new Error(String(error))}
      retry={reset}
    />
  );
}
