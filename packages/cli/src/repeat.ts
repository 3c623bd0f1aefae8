/** Calls `callback` every `ms` milliseconds. Returns a function that stops it. */
export type RepeatFunction = (ms: number, callback: () => void) => () => void;

/** Calls `callback` every `ms` milliseconds, without keeping the process alive. Returns a function that stops it. */
export const repeat: RepeatFunction = (ms, callback) => {
  const timer = setInterval(callback, ms);
  timer.unref();
  return () => clearInterval(timer);
};
