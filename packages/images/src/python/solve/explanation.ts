import { ImageError, type ImageErrorCode } from '../../error.ts';
import { newestFirst } from '../pep/version.ts';
import type { Target } from '../pep/target.ts';
import type { Refused } from './catalogue.ts';
import type { Asked, Obstacle } from './requirements.ts';

/** The same requirement of one project, with all releases of it that have it. */
interface Group extends Omit<Asked, 'by'> {
  readonly by: { readonly name: string; readonly versions: readonly string[] } | undefined;
}

const MAX_SENTENCES = 8;
const MAX_TAGS = 6;

/** Of several obstacles the one that is told first: what nobody can change goes before what another range may change. */
const ORDER: readonly Obstacle['kind'][] = ['unknown', 'refused', 'url', 'malformed', 'python', 'no-version'];

/** The error that says what release after release of a project needs in vain; older ones were not looked at. */
export function explainDeadEnd(facts: readonly Asked[], target: Target): ImageError {
  const { code, message } = explain(facts, target);
  const by = facts.flatMap((fact) => fact.by ?? []);
  const oldest = by
    .map(({ version }) => version)
    .sort(newestFirst)
    .at(-1);
  const hint =
    by[0] && ` Older releases of ${by[0].name} were not tried; to do so ask for ${by[0].name}<${oldest}.`;
  return new ImageError(code, message + (hint ?? ''));
}

/** The error that says why requirements cannot be met, from the facts of the solver's proof. */
export function explain(facts: readonly Asked[], target: Target): ImageError {
  const groups = groupsOf(facts);
  const obstacles = groups.filter(({ obstacle }) => obstacle);
  const first = ORDER.flatMap((kind) => obstacles.filter(({ obstacle }) => obstacle?.kind === kind))[0];
  if (first?.obstacle) return obstructed(first, first.obstacle, target);
  const sentences = groups.slice(0, MAX_SENTENCES).map(sentenceOf);
  if (groups.length > MAX_SENTENCES)
    sentences.push(`${groups.length - MAX_SENTENCES} more requirements take part.`);
  return new ImageError(
    'resolution_conflict',
    `These requirements cannot be met together. ${sentences.join(' ')} Loosen or remove one of them.`,
  );
}

function groupsOf(facts: readonly Asked[]): Group[] {
  const groups = Map.groupBy(
    facts,
    ({ by, text, obstacle }) => `${by?.name ?? ''} ${text} ${obstacle?.kind ?? ''}`,
  );
  const made = [...groups.values()].flatMap(([first, ...rest]) => {
    if (!first) return [];
    const versions = [first, ...rest].flatMap(({ by }) => (by ? [by.version] : [])).sort(newestFirst);
    return { ...first, by: first.by && { name: first.by.name, versions: [...new Set(versions)] } };
  });
  // The author's own requirements come first: those are what can be changed.
  return made.sort((a, b) => Number(a.by !== undefined) - Number(b.by !== undefined));
}

function sentenceOf(group: Group): string {
  return group.by ? `${askerOf(group)} needs ${group.text}.` : `The list asks for ${group.text}.`;
}

/** `jinja2 3.1.6`, or `jinja2 2.7 to 3.1.6`. */
function askerOf({ by }: Group): string {
  if (!by) return 'The list';
  const [newest = '', oldest = newest] = [by.versions[0], by.versions.at(-1)];
  return newest === oldest ? `${by.name} ${newest}` : `${by.name} ${oldest} to ${newest}`;
}

function obstructed(group: Group, obstacle: Obstacle, target: Target): ImageError {
  const needed = group.by && group.by.name !== group.name ? ` (${askerOf(group)} needs ${group.text})` : '';
  switch (obstacle.kind) {
    case 'unknown':
      return new ImageError(
        'package_not_found',
        `There is no Python package ${group.name}${needed}. Check its spelling and the configured index.`,
      );
    case 'no-version':
      return new ImageError(
        'version_not_found',
        `No release of ${group.name} matches ${group.text}${needed}; ${obstacle.newest === undefined ? 'there is none' : `the newest one is ${obstacle.newest}`}.`,
      );
    case 'url':
      return new ImageError(
        'unsupported_package',
        `${askerOf(group)} needs ${group.text}, a URL; only packages of the index are installed.`,
      );
    case 'malformed':
      return new ImageError(
        'unsupported_package',
        `The metadata of ${askerOf(group)} cannot be read. Ask for another release of ${group.name}.`,
      );
    case 'python':
      return pythonMismatch(group, [obstacle.requires], target);
    case 'refused':
      return refusal(group, obstacle.refused, needed, target);
  }
}

/** The wheels that exist decide what the author is told: for other platforms, for other versions of Python, withdrawn. */
function refusal(group: Group, refused: readonly Refused[], needed: string, target: Target): ImageError {
  const has = (why: Refused['why']): readonly Refused[] => refused.filter((one) => one.why === why);
  const [newest] = has('wheel');
  if (newest) return noWheel(group, newest, needed, target);
  const python = has('python');
  if (python.length > 0) return pythonMismatch(group, python[0]?.details ?? [], target);
  const code: ImageErrorCode = has('digest').length > 0 ? 'integrity_error' : 'version_not_found';
  const reason =
    code === 'integrity_error'
      ? 'the index tells no SHA-256 or SHA-512 of its files, and nothing is installed without'
      : 'all that match were withdrawn by their authors or are pre-releases; name one exactly (==) to have it';
  return new ImageError(code, `${group.text}${needed} cannot be installed: ${reason}.`);
}

function noWheel({ name }: Group, { version, details }: Refused, needed: string, target: Target): ImageError {
  const platforms = [...new Set(details.map(platformOf))].sort();
  const shown = platforms.slice(0, MAX_TAGS).join(', ');
  const more = platforms.length > MAX_TAGS ? ` and ${platforms.length - MAX_TAGS} more` : '';
  const exist =
    platforms.length > 0 ? `its wheels are for ${shown}${more}` : 'it is published as source code only';
  const wanted = `py3-none-any or ${target.tags[0] ?? ''}`;
  const { sys_platform: system, python_version: python, platform_machine: machine } = target.markers;
  const isIsolate = system === 'emscripten';
  const where = isIsolate ? 'Python in the isolate' : `Python ${python} on ${system} ${machine}`;
  const places = `the configured wheelhouse${isIsolate ? ' or Pyodide mirror' : ''}`;
  const other = isIsolate ? 'Use the native runtime' : 'Ask for another release of it';
  const way =
    platforms.length > 0
      ? `${other}, or give a wheel in ${places}.`
      : `Sources are not built here: give a wheel in ${places}; pip wheel makes one.`;
  return new ImageError(
    'no_compatible_wheel',
    `${name} ${version}${needed} has no wheel for ${where} (${wanted}); ${exist}. ${way}`,
  );
}

/** `manylinux x86_64`, without the versions of the C library; `py2 any`. */
function platformOf(tag: string): string {
  const [python = '', , platform = ''] = tag.split('-');
  const plain = platform
    .replace(/^manylinux(?:\d+|_\d+_\d+)_/, 'manylinux ')
    .replace(/^macosx_\d+_\d+_/, 'macosx ');
  // Of these the version is what does not fit.
  if (plain === 'any' || plain.startsWith('pyemscripten')) return `${python} ${plain}`;
  return plain.replace(/^musllinux_\d+_\d+_/, 'musllinux ');
}

function pythonMismatch({ name }: Group, requires: readonly string[], target: Target): ImageError {
  const wanted = [...new Set(requires)].join(' or ');
  return new ImageError(
    'incompatible_platform',
    `No release of ${name} that matches runs on Python ${target.markers['python_full_version'] ?? ''}; it asks for Python ${wanted}. Allow another release of it.`,
  );
}
