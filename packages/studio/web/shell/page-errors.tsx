import { Link } from '@tanstack/react-router';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { Empty, Failed } from '../parts/notice.tsx';

export function NotFound() {
  return (
    <Empty title="There is no such page">
      <Link to="/runs" search={{}}>
        Go to the runs
      </Link>
    </Empty>
  );
}

export function PageFailed({ error, reset }: ErrorComponentProps) {
  return <Failed error={error instanceof Error ? error : new Error(String(error))} retry={reset} />;
}
