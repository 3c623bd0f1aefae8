import type { ReactNode } from 'react';

/** The content of an empty list. */
export function EmptyNotice({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="notice" data-kind="empty">
      <p className="notice-title">{title}</p>
      {children}
    </div>
  );
}

/** The content of a part of a page whose request has failed. */
export function ErrorNotice({ error, retry }: { error: Error; retry?: () => unknown }) {
  return (
    <div className="notice" data-kind="failed" role="alert">
      <p className="notice-title">This could not be loaded</p>
      <p>{error.message}</p>
      {retry && (
        <button type="button" className="button" onClick={() => void retry()}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A page whose main request has failed. `title` is its heading. */
export function ErrorPage({ title, ...failure }: { title: string; error: Error; retry: () => unknown }) {
  return (
    <div className="page">
      <h1>{title}</h1>
      <ErrorNotice {...failure} />
    </div>
  );
}

export function Loading({ label }: { label: string }) {
  return (
    <p className="loading" role="status">
      Loading {label}…
    </p>
  );
}
