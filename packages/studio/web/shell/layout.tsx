import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { useState } from 'react';
import { signOut } from '../api/session.ts';
import { EmptyNotice, ErrorNotice, Loading } from '../components/notice.tsx';
import { setTheme, readStoredTheme } from './theme.ts';
import type { Theme } from './theme.ts';
import { WorkspaceContext, rememberWorkspace, useWorkspaces } from './workspace.ts';

/** The header with links to the pages, and the current page. */
export function Layout() {
  const { workspaces, currentWorkspace, error, isPending, refetch } = useWorkspaces();
  const [selectedId, setSelectedId] = useState<string>();
  const workspaceId = selectedId ?? currentWorkspace?.id;
  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header className="header">
        <Link to="/runs" search={{}} className="brand">
          Heddle
        </Link>
        <nav aria-label="Pages">
          <Link to="/runs" search={{}}>
            Runs
          </Link>
          <Link to="/workflows" search={{}}>
            Workflows
          </Link>
          <Link to="/dashboard">Dashboard</Link>
          <Link to="/settings">Settings</Link>
        </nav>
        <div className="header-end">
          {workspaces.length > 1 && (
            <select
              aria-label="Workspace"
              value={workspaceId}
              onChange={({ target }) => {
                rememberWorkspace(target.value);
                setSelectedId(target.value);
              }}
            >
              {workspaces.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
          <ThemeSelect />
          <SignOutButton />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {isPending && <Loading label="workspaces" />}
        {error && <ErrorNotice error={error} retry={refetch} />}
        {!isPending && !error && workspaceId === undefined && <EmptyNotice title="You have no workspace" />}
        {workspaceId !== undefined && (
          <WorkspaceContext value={workspaceId}>
            <Outlet />
          </WorkspaceContext>
        )}
      </main>
    </>
  );
}

function ThemeSelect() {
  const [theme, setShownTheme] = useState(readStoredTheme);
  return (
    <select
      aria-label="Theme"
      value={theme}
      onChange={({ target }) => {
        const nextTheme = target.value as Theme;
        setTheme(nextTheme);
        setShownTheme(nextTheme);
      }}
    >
      <option value="system">System</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}

function SignOutButton() {
  const queryClient = useQueryClient();
  const action = useMutation({ mutationFn: signOut, onSuccess: () => queryClient.resetQueries() });
  return (
    <button
      type="button"
      className="button quiet"
      disabled={action.isPending}
      onClick={() => action.mutate()}
    >
      Sign out
    </button>
  );
}
