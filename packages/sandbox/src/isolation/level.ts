/**
 * How far the operating system confines a process: `strict` has a file system, network, users and processes of its own and
 * a filter of system calls; `standard` has limits on its resources, and a user of its own where the host is root;
 * `basic` has Node's permission model alone.
 */
export type IsolationLevel = 'strict' | 'standard' | 'basic';

/** From the least to the most. */
export const LEVELS: readonly IsolationLevel[] = ['basic', 'standard', 'strict'];

export function isAtLeast(level: IsolationLevel, minimum: IsolationLevel): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(minimum);
}
