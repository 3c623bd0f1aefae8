/**
 * `full` in `npm run test:full`, else `quick`: how many cases a property test draws, how long a soak runs.
 */
export function scale(quick: number, full: number): number {
  return process.env['HEDDLE_SCALE'] === 'full' ? full : quick;
}
