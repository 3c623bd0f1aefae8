/** Returns the part of the environment that benchmark processes inherit, so that other variables cannot affect a figure. */
export const PROCESS_ENV = {
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  TMPDIR: process.env['TMPDIR'],
  XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'],
  NODE_ENV: 'production',
};
