/**
 * Settings of the history service by which every server of ours is started.
 *
 * By default it polls each shard's queues at most 20 times a second. One run lives on one shard, so blocks that
 * follow one another wait 50 ms for every task, whatever the worker does.
 */
export const POLL_LIMITS: Readonly<Record<string, number>> = {
  'history.transferProcessorMaxPollRPS': 10_000,
  'history.timerProcessorMaxPollRPS': 10_000,
};
