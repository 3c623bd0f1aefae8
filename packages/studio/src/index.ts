import './node-version.ts';

/** The pages of the Studio, as a host serves them next to the HTTP API. */
export { studioPages } from './pages.ts';
export type { StudioHandler, StudioOptions } from './pages.ts';
