import type { EngineOptions } from '@heddle/engine';

/** Returns the engine option for the URLs of pauses on a server with this origin. */
export async function pauseLinksAt(origin: string): Promise<NonNullable<EngineOptions['pauseLinks']>> {
  const { pauseLinks } = await import('@heddle/api/pages');
  return (pause) => pauseLinks(origin, pause);
}
