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
import { EmptyNotice, ErrorPage } from '../components/notice.tsx';
import { RunsPage } from '../runs/runs-page.tsx';
import { Layout } from './layout.tsx';
import {
  parseRunSearch,
  parseRunListSearch,
  parseWorkflowSearch,
  parseWorkflowListSearch,
} from './search.ts';

const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Layout,
  notFoundComponent: NotFound,
  errorComponent: RouteError,
});

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: () => <Navigate to="/runs" search={{}} replace />,
});

const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs',
  validateSearch: parseRunListSearch,
  component: RunsPage,
});

const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs/$runId',
  validateSearch: parseRunSearch,
  // The data is requested together with the code of the page, but not when the page is only preloaded.
  loader: ({ context: { queryClient }, params: { runId }, location: { search }, preload }) => {
    if (preload) return;
    const { scope = '' } = parseRunSearch(search);
    void queryClient.prefetchQuery({ ...overviewQuery(runId), staleTime: Infinity });
    void queryClient.prefetchQuery({ ...statesQuery(runId, scope), staleTime: Infinity });
  },
  component: lazyRouteComponent(() => import('../run/run-page.tsx'), 'RunPage'),
});

const workflowsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/workflows',
  validateSearch: parseWorkflowListSearch,
  component: lazyRouteComponent(() => import('../workflows/workflows-page.tsx'), 'WorkflowsPage'),
});

const workflowRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/workflows/$workflowId',
  validateSearch: parseWorkflowSearch,
  component: lazyRouteComponent(() => import('../workflows/workflow-page.tsx'), 'WorkflowPage'),
});

const dashboardRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/dashboard',
  component: lazyRouteComponent(() => import('../dashboard/dashboard-page.tsx'), 'DashboardPage'),
});

const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('../settings/settings-page.tsx'), 'SettingsPage'),
});

const routeTree = rootRoute.addChildren([
  homeRoute,
  runsRoute,
  runRoute,
  workflowsRoute,
  workflowRoute,
  dashboardRoute,
  settingsRoute,
]);

function NotFound() {
  return (
    <div className="page">
      <h1>Unknown page</h1>
      <EmptyNotice title="There is no such page">
        <Link to="/runs" search={{}}>
          Go to the runs
        </Link>
      </EmptyNotice>
    </div>
  );
}

function RouteError({ error, reset }: ErrorComponentProps) {
  return (
    <ErrorPage
      title="Heddle"
      error={error instanceof Error ? error : new Error(String(error))}
      retry={reset}
    />
  );
}

export function makeRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    basepath: BASE_PATH === '' ? '/' : BASE_PATH,
    context: { queryClient },
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
