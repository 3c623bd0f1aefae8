/** Calls `beat` every `ms` milliseconds, which does not keep the process alive. Returns a function that stops it. */
export function interval(ms: number, beat: () => void): () => void {
  const timer = setInterval(beat, ms);
  timer.unref();
  return () => clearInterval(timer);
}
