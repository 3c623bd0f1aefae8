import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useState } from 'react';
import { readSession, signInWithKey } from '../api/session.ts';
import { ErrorNotice, Loading } from '../components/notice.tsx';

/** Shows the sign-in form, and the pages after signing in. `tokenError`: why the token in the URL was refused. */
export function SignInGate({
  tokenError,
  children,
}: {
  tokenError: string | undefined;
  children: ReactNode;
}) {
  const session = useQuery({ queryKey: ['session'], queryFn: readSession, staleTime: Infinity });
  if (session.isPending) return <Loading label="the Studio" />;
  if (session.error) return <ErrorNotice error={session.error} retry={session.refetch} />;
  if (session.data.signedIn) return children;
  return <SignInForm tokenError={tokenError} acceptsToken={session.data.ways?.includes('token') ?? false} />;
}

function SignInForm({ tokenError, acceptsToken }: { tokenError: string | undefined; acceptsToken: boolean }) {
  const queryClient = useQueryClient();
  const [key, setKey] = useState('');
  const action = useMutation({
    mutationFn: signInWithKey,
    onSuccess: () => queryClient.resetQueries(),
  });
  const message = action.error?.message ?? tokenError;
  return (
    <main className="sign-in">
      <h1>Heddle Studio</h1>
      {acceptsToken && <p>Open the URL that heddle serve printed when it started, or use an API key.</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          action.mutate(key);
        }}
      >
        <label htmlFor="key">API key</label>
        <input
          id="key"
          type="password"
          autoComplete="off"
          required
          value={key}
          onChange={(event) => setKey(event.target.value)}
          aria-describedby={message ? 'sign-in-error' : undefined}
        />
        {message && (
          <p id="sign-in-error" role="alert" className="error-text">
            {message}
          </p>
        )}
        <button type="submit" className="button primary" disabled={action.isPending}>
          Sign in
        </button>
      </form>
    </main>
  );
}
