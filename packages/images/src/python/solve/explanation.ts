import { ImageError, type ImageErrorCode } from '../../error.ts';
import { compareNewestFirst } from '../pep/version.ts';
import type { Target } from '../pep/target.ts';
import type { RefusedRelease } from './catalogue.ts';
import type { RequirementFact, Obstacle } from './requirements.ts';

/** The same requirement of several releases of one project. */
interface RequirementGroup extends Omit<RequirementFact, 'dependent'> {
  readonly dependent: { readonly name: string; readonly versions: readonly string[] } | undefined;
}

const MAX_SENTENCES = 8;
const MAX_PLATFORMS = 6;

/** Obstacles in the order in which they are reported: those that no other version range can remove come first. */
const REPORT_ORDER: readonly Obstacle['kind'][] = [
  'unknown',
  'refused',
  'url',
  'malformed',
  'python',
  'no-version',
];

/**
 * Returns the error for a project whose newest releases all have a dependency that cannot be met. Older ones were not
 * checked.
 */
export function blockedReleasesError(facts: readonly RequirementFact[], target: Target): ImageError {
  const { code, message } = resolutionError(facts, target);
  const dependents = facts.flatMap((fact) => fact.dependent ?? []);
  const oldestVersion = dependents
    .map(({ version }) => version)
    .sort(compareNewestFirst)
    .at(-1);
  const hint =
    dependents[0] &&
    ` Older releases of ${dependents[0].name} were not tried; to try them, request ${dependents[0].name}<${oldestVersion}.`;
  return new ImageError(code, message + (hint ?? ''));
}

/** Returns the error for requirements that cannot be met, from the facts of the solver's proof. */
export function resolutionError(facts: readonly RequirementFact[], target: Target): ImageError {
  const groups = groupsOf(facts);
  const obstacles = groups.filter(({ obstacle }) => obstacle);
  const reportedGroup = REPORT_ORDER.flatMap((kind) =>
    obstacles.filter(({ obstacle }) => obstacle?.kind === kind),
  )[0];
  if (reportedGroup?.obstacle) return obstacleError(reportedGroup, reportedGroup.obstacle, target);
  const sentences = groups.slice(0, MAX_SENTENCES).map(sentenceOf);
  if (groups.length > MAX_SENTENCES)
    sentences.push(`${groups.length - MAX_SENTENCES} more requirements are involved.`);
  return new ImageError(
    'resolution_conflict',
    `These requirements conflict. ${sentences.join(' ')} Loosen or remove one of them.`,
  );
}

function groupsOf(facts: readonly RequirementFact[]): RequirementGroup[] {
  const groups = Map.groupBy(
    facts,
    ({ dependent, text, obstacle }) => `${dependent?.name ?? ''} ${text} ${obstacle?.kind ?? ''}`,
  );
  const groupList = [...groups.values()].flatMap(([first, ...rest]) => {
    if (!first) return [];
    const versions = [first, ...rest]
      .flatMap(({ dependent }) => (dependent ? [dependent.version] : []))
      .sort(compareNewestFirst);
    return {
      ...first,
      dependent: first.dependent && { name: first.dependent.name, versions: [...new Set(versions)] },
    };
  });
  // The author's own requirements come first, because those can be changed.
  return groupList.sort((a, b) => Number(a.dependent !== undefined) - Number(b.dependent !== undefined));
}

function sentenceOf(group: RequirementGroup): string {
  return group.dependent
    ? `${dependentText(group)} needs ${group.text}.`
    : `The specification requires ${group.text}.`;
}

/** Returns `jinja2 3.1.6`, or `jinja2 2.7 to 3.1.6`. */
function dependentText({ dependent }: RequirementGroup): string {
  if (!dependent) return 'The specification';
  const [newest = '', oldest = newest] = [dependent.versions[0], dependent.versions.at(-1)];
  return newest === oldest ? `${dependent.name} ${newest}` : `${dependent.name} ${oldest} to ${newest}`;
}

function obstacleError(group: RequirementGroup, obstacle: Obstacle, target: Target): ImageError {
  const neededByText =
    group.dependent && group.dependent.name !== group.name
      ? ` (${dependentText(group)} needs ${group.text})`
      : '';
  switch (obstacle.kind) {
    case 'unknown':
      return new ImageError(
        'package_not_found',
        `There is no Python package ${group.name}${neededByText}. Check its spelling and the configured index.`,
      );
    case 'no-version':
      return new ImageError(
        'version_not_found',
        `No release of ${group.name} matches ${group.text}${neededByText}; ${obstacle.newestVersion === undefined ? 'there is none' : `the newest is ${obstacle.newestVersion}`}.`,
      );
    case 'url':
      return new ImageError(
        'unsupported_package',
        `${dependentText(group)} needs ${group.text}, a URL; only packages from an index are installed.`,
      );
    case 'malformed':
      return new ImageError(
        'unsupported_package',
        `The metadata of ${dependentText(group)} cannot be read. Request another release of ${group.name}.`,
      );
    case 'python':
      return pythonMismatchError(group, [obstacle.pythonRange], target);
    case 'refused':
      return refusalError(group, obstacle.refusedReleases, neededByText, target);
  }
}

/**
 * Returns the error for a project whose matching releases cannot be installed: they have no compatible wheel, require
 * another Python, have no digest, or are yanked or pre-releases.
 */
function refusalError(
  group: RequirementGroup,
  refusedReleases: readonly RefusedRelease[],
  neededByText: string,
  target: Target,
): ImageError {
  const releasesWithReason = (reason: RefusedRelease['reason']): readonly RefusedRelease[] =>
    refusedReleases.filter((release) => release.reason === reason);
  const [newestRelease] = releasesWithReason('wheel');
  if (newestRelease) return noWheelError(group, newestRelease, neededByText, target);
  const pythonMismatches = releasesWithReason('python');
  if (pythonMismatches.length > 0)
    return pythonMismatchError(group, pythonMismatches[0]?.details ?? [], target);
  const code: ImageErrorCode =
    releasesWithReason('digest').length > 0 ? 'integrity_error' : 'version_not_found';
  const cause =
    code === 'integrity_error'
      ? 'the index has no SHA-256 or SHA-512 for its files, which is required'
      : 'all matching releases were yanked by their authors or are pre-releases; request one with == to use it';
  return new ImageError(code, `${group.text}${neededByText} cannot be installed: ${cause}.`);
}

function noWheelError(
  { name }: RequirementGroup,
  { version, details }: RefusedRelease,
  neededByText: string,
  target: Target,
): ImageError {
  const platforms = [...new Set(details.map(platformOf))].sort();
  const shownPlatforms = platforms.slice(0, MAX_PLATFORMS).join(', ');
  const moreText = platforms.length > MAX_PLATFORMS ? ` and ${platforms.length - MAX_PLATFORMS} more` : '';
  const availability =
    platforms.length > 0
      ? `its wheels are for ${shownPlatforms}${moreText}`
      : 'it is published only as source code';
  const acceptedTags = `py3-none-any or ${target.tags[0] ?? ''}`;
  const { sys_platform: system, python_version: pythonVersion, platform_machine: machine } = target.markers;
  const isIsolate = system === 'emscripten';
  const environment = isIsolate ? 'Python in the isolate' : `Python ${pythonVersion} on ${system} ${machine}`;
  const sources = `the configured wheelhouse${isIsolate ? ' or Pyodide mirror' : ''}`;
  const alternative = isIsolate ? 'Use the native runtime' : 'Request another release';
  const advice =
    platforms.length > 0
      ? `${alternative}, or add a wheel to ${sources}.`
      : `Source distributions are not built: add a wheel to ${sources} (pip wheel builds one).`;
  return new ImageError(
    'no_compatible_wheel',
    `${name} ${version}${neededByText} has no wheel for ${environment} (${acceptedTags}); ${availability}. ${advice}`,
  );
}

/**
 * Returns the platform of a tag without its version, such as `manylinux x86_64`. For `any` and Pyodide, it includes the
 * Python version: `py2 any`.
 */
function platformOf(tag: string): string {
  const [python = '', , platform = ''] = tag.split('-');
  const platformName = platform
    .replace(/^manylinux(?:\d+|_\d+_\d+)_/, 'manylinux ')
    .replace(/^macosx_\d+_\d+_/, 'macosx ');
  // For these the Python version is the reason for the mismatch.
  if (platformName === 'any' || platformName.startsWith('pyemscripten')) return `${python} ${platformName}`;
  return platformName.replace(/^musllinux_\d+_\d+_/, 'musllinux ');
}

function pythonMismatchError(
  { name }: RequirementGroup,
  pythonRanges: readonly string[],
  target: Target,
): ImageError {
  const requiredRange = [...new Set(pythonRanges)].join(' or ');
  return new ImageError(
    'incompatible_platform',
    `No matching release of ${name} supports Python ${target.markers['python_full_version'] ?? ''}: Python ${requiredRange} is required. Allow other releases.`,
  );
}
