import { targetOf } from '../../../packages/images/src/python/pep/target.ts';
import { parseWheelName } from '../../../packages/images/src/python/pep/wheel-name.ts';
import {
  type Resolution,
  type ResolveOptions,
  resolveRequirements,
} from '../../../packages/images/src/python/solve/resolution.ts';
import type { AvailableWheel, Project, Source } from '../../../packages/images/src/python/sources/source.ts';

/** The platform of the wheels: the Python interpreter of Pyodide 314. */
export const target = targetOf({ python: '3.14.2', abiVersion: '2026_0', platform: 'emscripten_5_0_3' });

interface Release {
  readonly requires?: readonly string[];
  readonly tags?: readonly string[];
  readonly yanked?: string;
  readonly requiresPython?: string;
  readonly digest?: string;
}

/** Releases by project and version. A list stands for a release with these requirements. */
export type Releases = Readonly<Record<string, Readonly<Record<string, Release | readonly string[]>>>>;

/** Returns a source with these releases. */
export function createSource(releases: Releases, kind: Source['kind'] = 'index'): Source {
  const releaseOf = (name: string, version: string): Release => {
    const release = releases[name]?.[version] ?? {};
    return Array.isArray(release) ? { requires: release } : (release as Release);
  };
  return {
    kind,
    find: (name) => {
      const versions = releases[name];
      const wheels = Object.keys(versions ?? {}).flatMap((version) => {
        const release = releaseOf(name, version);
        return (release.tags ?? ['py3-none-any']).map((tags) =>
          toAvailableWheel(kind, `${name.replaceAll('-', '_')}-${version}-${tags}.whl`, release),
        );
      });
      const project: Project = {
        wheels,
        sourceOnlyVersions: Object.keys(versions ?? {}).filter(
          (version) => releaseOf(name, version).tags?.length === 0,
        ),
      };
      return Promise.resolve(versions && project);
    },
    metadataOf: ({ wheel }) => {
      const { requires = [], requiresPython } = releaseOf(wheel.name, wheel.version);
      const lines = [
        `Name: ${wheel.name}`,
        `Version: ${wheel.version}`,
        ...requires.map((text) => `Requires-Dist: ${text}`),
      ];
      return Promise.resolve(
        [...lines, ...(requiresPython ? [`Requires-Python: ${requiresPython}`] : [])].join('\n'),
      );
    },
  };
}

function toAvailableWheel(
  kind: Source['kind'],
  filename: string,
  { requiresPython = '', yanked, digest = 'sha256:0' }: Release,
): AvailableWheel {
  const wheel = parseWheelName(filename);
  if (!wheel) throw new Error(`${filename} is not a valid name of a wheel.`);
  const location = `https://index.test/${kind}/${filename}`;
  return {
    source: kind,
    filename,
    wheel,
    location,
    digest: digest || undefined,
    size: 1,
    requiresPython,
    yanked,
    metadata: undefined,
  };
}

/** Resolves the requirements with one index, which has these releases. Returns `name version` of each chosen one. */
export async function resolve(
  requirements: readonly string[],
  releases: Releases,
  options: Partial<ResolveOptions> = {},
): Promise<string[]> {
  const { chosenReleases } = await resolveWithDetails(requirements, releases, options);
  return chosenReleases.map(({ name, version }) => `${name} ${version}`);
}

/** Resolves the requirements with one index, which has these releases. Returns the complete resolution. */
export async function resolveWithDetails(
  requirements: readonly string[],
  releases: Releases,
  options: Partial<ResolveOptions> = {},
): Promise<Resolution> {
  return resolveRequirements(requirements, { sources: [createSource(releases)], target, ...options });
}
