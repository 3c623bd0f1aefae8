import type { EngineOptions } from '@heddle/engine';

/** Returns a function that returns the addresses of pauses at a server with this origin. */
export async function pauseLinksAt(origin: string): Promise<NonNullable<EngineOptions['pauseLinks']>> {
  const { pauseLinks } = await import('@heddle/api/pages');
  return (pause) => pauseLinks(origin, pause);
}
