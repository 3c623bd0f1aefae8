import { probeIsolation, type SandboxOptions } from '@heddle/sandbox';
import { findBubblewrap } from '../support/bubblewrap.ts';
import { isFullRun, reportSkipped } from '../support/scale.ts';

type IsolationOptions = NonNullable<SandboxOptions['isolation']>;

/** An isolation level, with the options that request it. */
export interface Level {
  readonly name: string;
  readonly options: SandboxOptions;
}

const bubblewrapPath = findBubblewrap();
const tools: IsolationOptions = bubblewrapPath === undefined ? {} : { bubblewrap: bubblewrapPath };
const { level: highestLevel } = await probeIsolation(tools);
const createLevel = (name: 'strict' | 'standard'): Level => ({
  name,
  options: { isolation: { ...tools, level: name } },
});

/** The levels for attacks: `standard`, which every Linux supports, and `strict` if this machine supports it. */
export const levels: readonly Level[] =
  highestLevel === 'strict' ? [createLevel('standard'), createLevel('strict')] : [createLevel('standard')];

/** Returns the levels for tests that have the same result on each: in a quick run only the highest. */
export function sampleLevels(): readonly Level[] {
  if (isFullRun || levels.length === 1) return levels;
  reportSkipped(`isolation ${levels[0]?.name}`);
  return levels.slice(-1);
}
