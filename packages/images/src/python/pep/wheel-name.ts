import { canonicalName } from './names.ts';
import type { Target } from './target.ts';
import { isVersion } from './version.ts';

/** What the name of a wheel says (PEP 427). */
export interface WheelName {
  /** Canonical. */
  readonly name: string;
  readonly version: string;
  /** Orders wheels that are otherwise alike: number, then text. */
  readonly build: readonly [number, string];
  /** Every `python-abi-platform` that it is for: compressed sets written out. */
  readonly tags: readonly string[];
}

const NAME = /^[A-Za-z0-9]([A-Za-z0-9._]*[A-Za-z0-9])?$/;

/** The parts of a wheel's file name, or undefined when it is not the name of a wheel. */
export function parseWheelName(filename: string): WheelName | undefined {
  if (!filename.endsWith('.whl')) return undefined;
  const parts = filename.slice(0, -'.whl'.length).split('-');
  if (parts.length !== 5 && parts.length !== 6) return undefined;
  const [name = '', version = ''] = parts;
  const build = parseBuild(parts.length === 6 ? parts[2] : undefined);
  if (!NAME.test(name) || !isVersion(version) || !build) return undefined;
  return { name: canonicalName(name), version, build, tags: expand(parts.slice(-3)) };
}

function parseBuild(text: string | undefined): readonly [number, string] | undefined {
  if (text === undefined) return [-1, ''];
  const [, number, rest = ''] = /^(\d+)(.*)$/.exec(text) ?? [];
  return number === undefined ? undefined : [Number(number), rest];
}

function expand([pythons = '', abis = '', platforms = '']: readonly string[]): string[] {
  const pairs = pythons.split('.').flatMap((python) => abis.split('.').map((abi) => `${python}-${abi}`));
  return pairs.flatMap((pair) => platforms.split('.').map((platform) => `${pair}-${platform}`));
}

/** The place of a wheel in the target's order, 0 the best, or undefined when it does not run there. */
export function tagRank(wheel: WheelName, target: Target): number | undefined {
  const ranks = wheel.tags.map((tag) => target.tags.indexOf(tag)).filter((rank) => rank >= 0);
  return ranks.length === 0 ? undefined : Math.min(...ranks);
}
