import {
  Link,
  Navigate,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router';
import type { ErrorComponentProps } from '@tanstack/react-router';
import type { QueryClient } from '@tanstack/react-query';
import { BASE_PATH } from '../api/client.ts';
import { overviewQuery, statesQuery } from '../api/queries.ts';
import { Empty, FailedPage } from '../parts/notice.tsx';
import { RunsPage } from '../runs/runs-page.tsx';
import { Layout } from './layout.tsx';
import {
  parseRunSearch,
  parseRunListSearch,
  parseWorkflowSearch,
  parseWorkflowListSearch,
} from './search.ts';

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Layout,
  notFoundComponent: NotFound,
  errorComponent: PageFailed,
});

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: () => <Navigate to="/runs" search={{}} replace />,
});

const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: parseRunListSearch,
  component: RunsPage,
});

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  validateSearch: parseRunSearch,
  // The data is requested together with the code of the page, but not when the page is only preloaded.
  loader: ({ context: { queries }, params: { runId }, location: { search }, preload }) => {
    if (preload) return;
    const { scope = '' } = parseRunSearch(search);
    void queries.prefetchQuery({ ...overviewQuery(runId), staleTime: Infinity });
    void queries.prefetchQuery({ ...statesQuery(runId, scope), staleTime: Infinity });
  },
  component: lazyRouteComponent(() => import('../run/run-page.tsx'), 'RunPage'),
});

const workflows = createRoute({
  getParentRoute: () => root,
  path: '/workflows',
  validateSearch: parseWorkflowListSearch,
  component: lazyRouteComponent(() => import('../workflows/workflows-page.tsx'), 'WorkflowsPage'),
});

const workflow = createRoute({
  getParentRoute: () => root,
  path: '/workflows/$workflowId',
  validateSearch: parseWorkflowSearch,
  component: lazyRouteComponent(() => import('../workflows/workflow-page.tsx'), 'WorkflowPage'),
});

const dashboard = createRoute({
  getParentRoute: () => root,
  path: '/dashboard',
  component: lazyRouteComponent(() => import('../dashboard/dashboard-page.tsx'), 'DashboardPage'),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => import('../settings/settings-page.tsx'), 'SettingsPage'),
});

const routeTree = root.addChildren([home, runs, run, workflows, workflow, dashboard, settings]);

function NotFound() {
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

function PageFailed({ error, reset }: ErrorComponentProps) {
  return (
    <FailedPage
      what="Heddle"
      error={error instanceof Error ? error : new Error(String(error))}
      retry={reset}
    />
  );
}

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree,
    basepath: BASE_PATH === '' ? '/' : BASE_PATH,
    context: { queries },
    defaultPreload: 'intent',
    // A preload loads only the code, so the loader must run again when the page opens. It skips data that is loaded.
    defaultPreloadStaleTime: 0,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
