import type { EngineOptions } from '@heddle/engine';

/** Returns the addresses of pauses at a server. `origin`: scheme, host and base path. */
export function linksAt(origin: string): NonNullable<EngineOptions['pauseLinks']> {
  return ({ workflowId, runId, token }) => {
    const path = [workflowId, runId, token].map(encodeURIComponent).join('/');
    return { url: `${origin}/resume/${path}`, resumeEndpoint: `${origin}/api/resume/${path}` };
  };
}
