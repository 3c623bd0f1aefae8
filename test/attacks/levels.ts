import type { SandboxOptions } from '@heddle/sandbox';

/** A level of isolation, with the options that ask for it. */
export interface Level {
  readonly name: string;
  readonly options: SandboxOptions;
}

/** The levels that attacks are run on: the one that every Linux has, and the strict one where it can be had. */
export const levels: readonly Level[] = [{ name: 'standard', options: {} }];
