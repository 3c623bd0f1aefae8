import { probeIsolation, type SandboxOptions } from '@heddle/sandbox';
import { bubblewrap } from '../support/bubblewrap.ts';
import { isFull, leftOut } from '../support/scale.ts';

type IsolationOptions = NonNullable<SandboxOptions['isolation']>;

/** A level of isolation, with the options that ask for it. */
export interface Level {
  readonly name: string;
  readonly options: SandboxOptions;
}

const path = bubblewrap();
const tools: IsolationOptions = path === undefined ? {} : { bubblewrap: path };
const { level: highest } = await probeIsolation(tools);
const level = (name: 'strict' | 'standard'): Level => ({
  name,
  options: { isolation: { ...tools, level: name } },
});

/** The levels that attacks are run on: the one that every Linux has, and the strict one where it can be had. */
export const levels: readonly Level[] =
  highest === 'strict' ? [level('standard'), level('strict')] : [level('standard')];

/** The levels for tests that do the same on each: in a quick run the highest one. */
export function levelsAtScale(): readonly Level[] {
  if (isFull || levels.length === 1) return levels;
  leftOut(`isolation ${levels[0]?.name}`);
  return levels.slice(-1);
}
