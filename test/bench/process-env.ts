/** What the processes of a benchmark are given of this one's environment: whatever else is set must not tell in a figure. */
export const PROCESS_ENV = {
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  TMPDIR: process.env['TMPDIR'],
  XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'],
  NODE_ENV: 'production',
};
