import { canonicalName } from './names.ts';
import type { Target } from './target.ts';
import { isVersion } from './version.ts';

/** The parts of a wheel's file name (PEP 427). */
export interface WheelName {
  /** Canonical name. */
  readonly name: string;
  readonly version: string;
  /** Build tag: a number, then text. Orders wheels that are otherwise equal. */
  readonly buildTag: readonly [number, string];
  /** All `python-abi-platform` tags, with compressed sets expanded. */
  readonly tags: readonly string[];
}

const NAME = /^[A-Za-z0-9]([A-Za-z0-9._]*[A-Za-z0-9])?$/;

/** Parses the file name of a wheel; undefined if it is not one. */
export function parseWheelName(filename: string): WheelName | undefined {
  if (!filename.endsWith('.whl')) return undefined;
  const parts = filename.slice(0, -'.whl'.length).split('-');
  if (parts.length !== 5 && parts.length !== 6) return undefined;
  const [name = '', version = ''] = parts;
  const buildTag = parseBuildTag(parts.length === 6 ? parts[2] : undefined);
  if (!NAME.test(name) || !isVersion(version) || !buildTag) return undefined;
  return { name: canonicalName(name), version, buildTag, tags: expandTags(parts.slice(-3)) };
}

function parseBuildTag(text: string | undefined): readonly [number, string] | undefined {
  if (text === undefined) return [-1, ''];
  const [, number, suffix = ''] = /^(\d+)(.*)$/.exec(text) ?? [];
  return number === undefined ? undefined : [Number(number), suffix];
}

function expandTags([pythons = '', abis = '', platforms = '']: readonly string[]): string[] {
  const pairs = pythons.split('.').flatMap((python) => abis.split('.').map((abi) => `${python}-${abi}`));
  return pairs.flatMap((pair) => platforms.split('.').map((platform) => `${pair}-${platform}`));
}

/** Returns the wheel's rank in the target's tags, 0 for the best; undefined if it is not compatible. */
export function tagRank(wheel: WheelName, target: Target): number | undefined {
  const ranks = wheel.tags.map((tag) => target.tags.indexOf(tag)).filter((rank) => rank >= 0);
  return ranks.length === 0 ? undefined : Math.min(...ranks);
}
