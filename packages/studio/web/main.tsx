import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RequestError } from './api/client.ts';
import { signInWithUrlToken } from './api/session.ts';
import { makeRouter } from './shell/router.tsx';
import { SignInGate } from './shell/sign-in.tsx';
import { applyStoredTheme } from './shell/theme.ts';
import './styles/base.css';
import './styles/lists.css';
import './styles/run.css';

// Dialogs add a style element to stop the page from scrolling.
setNonce(document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '');
applyStoredTheme();
const tokenError = await signInWithUrlToken();
const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // A refused request would be refused again; a lost connection may be restored.
      retry: (failureCount, error) =>
        failureCount < 2 && !(error instanceof RequestError && error.status >= 400 && error.status < 500),
      refetchOnWindowFocus: false,
    },
  },
});
const root = document.getElementById('app');
if (!root) throw new Error('The page has no element for the application.');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <SignInGate tokenError={tokenError}>
        <RouterProvider router={makeRouter(queryClient)} />
      </SignInGate>
    </QueryClientProvider>
  </StrictMode>,
);
