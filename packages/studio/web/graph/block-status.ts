import type { BlockState } from '../api/queries.ts';

/**
 * Returns the status with which a block is drawn: `none` if it has not run. If its executions have different statuses,
 * the first of these applies: running, paused, failed, cancelled, handled, completed.
 */
export function statusOf(state: BlockState | undefined): string {
  if (!state) return 'none';
  if (state.running > 0) return 'running';
  if (state.paused > 0) return 'paused';
  if (state.failed > state.handled) return 'failed';
  if (state.cancelled > 0) return 'cancelled';
  return state.failed > 0 ? 'handled' : 'completed';
}

/** The name of each status. */
export const STATUS_NAMES: { readonly [status: string]: string } = {
  none: 'has not run',
  running: 'running',
  paused: 'paused',
  failed: 'failed',
  handled: 'failed, handled by an error port',
  cancelled: 'cancelled',
  completed: 'completed',
};
