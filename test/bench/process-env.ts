/** The environment of benchmark processes. They inherit nothing else, so that no other variable affects a metric. */
export const PROCESS_ENV = {
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  TMPDIR: process.env['TMPDIR'],
  XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'],
  NODE_ENV: 'production',
};
