import type { ImageRecord } from '@heddle/images';
import { formatDuration, formatCount } from '../render/format.ts';
import { sanitize, sanitizeLine, type Style } from '../render/style.ts';
import { tableLines } from '../render/table.ts';
import type { BuildResult } from './spec-file.ts';

/** Number of characters of an id that are shown. */
const ID_CHARS = 12;

/** Maximum number of indirect dependencies that are listed. A longer list is only counted. */
const MAX_INDIRECT_PACKAGES = 20;

const MIB = 2 ** 20;

function stateOf({ state }: ImageRecord, style: Style): string {
  if (state === 'ready') return style.green(state);
  return state === 'failed' ? style.red(state) : style.yellow(state);
}

const specEntriesOf = ({ spec }: ImageRecord): string[] => [
  ...spec.dependencies,
  ...spec.cliTools,
  ...spec.systemPackages,
];

/** Returns the package name in an entry of a specification, without version, range and extras. */
const packageNameIn = (entry: string): string => /^@?[^@\s[<>=!~:]+/.exec(entry)?.[0] ?? entry;

/** Returns the packages of an image: the packages that its specification names, then their dependencies. */
function packageLines(record: ImageRecord, style: Style): string[] {
  // A command-line tool is listed by its id, not by the packages in it.
  const { dependencies, systemPackages } = record.spec;
  const names = new Set([...dependencies, ...systemPackages].map(packageNameIn));
  // Packages are recorded as `name version`.
  const isDirect = (text: string): boolean => names.has(text.slice(0, text.lastIndexOf(' ')));
  const directPackages = record.packages.filter(isDirect);
  const indirectPackages = record.packages.filter((text) => !isDirect(text));
  const summary = `  and ${formatCount(indirectPackages.length, 'dependency')} (--json lists them)`;
  return [
    ...[...record.spec.cliTools, ...directPackages].map((text) => `  ${sanitizeLine(text)}`),
    ...(indirectPackages.length > MAX_INDIRECT_PACKAGES
      ? [style.dim(summary)]
      : indirectPackages.map((text) => style.dim(`  ${sanitizeLine(text)}`))),
  ];
}

function readyLines({ record, name, durationMs }: BuildResult, style: Style): string[] {
  const { id, spec, runtime, packages, bytes, warnings } = record;
  const label = name ?? record.names[0] ?? id.slice(0, ID_CHARS);
  const properties = [
    spec.language,
    runtime,
    formatCount(packages.length, 'package'),
    `${(bytes / MIB).toFixed(1)} MiB`,
  ];
  const buildNote = durationMs === undefined ? 'already built' : `built in ${formatDuration(durationMs)}`;
  return [
    `${style.green('✓')} ${style.bold(sanitizeLine(label))}  ${properties.join(', ')}, ${buildNote}`,
    `  ${style.dim(id)}`,
    ...packageLines(record, style),
    ...warnings.map((warning) => `${style.yellow('!')} ${sanitizeLine(warning)}`),
  ];
}

/** Returns the result of a build as text. */
export function buildLines(result: BuildResult, style: Style): string[] {
  const { record, name } = result;
  if (record.state === 'ready') return readyLines(result, style);
  const { id, errorCode, errorMessage, errorDetail } = record;
  const label = style.bold(sanitizeLine(name ?? id.slice(0, ID_CHARS)));
  const lines = [
    `${style.red('✗')} ${label}  ${stateOf(record, style)}${errorCode === null ? '' : `: ${errorCode}`}`,
    ...(errorMessage === null ? [] : [sanitize(errorMessage)]),
  ];
  return errorDetail === null || errorDetail === ''
    ? lines
    : [...lines, '', style.dim(sanitize(errorDetail))];
}

/** Returns a table of images, with the error below each failed image. */
export function imageTableLines(records: readonly ImageRecord[], style: Style): string[] {
  const rows = records.map((record) => [
    style.dim(record.id.slice(0, ID_CHARS)),
    sanitizeLine(record.names.join(', ')) || '-',
    stateOf(record, style),
    record.spec.language,
    record.builtAt === null ? '-' : record.builtAt.slice(0, 16).replace('T', ' '),
    sanitizeLine(specEntriesOf(record).join(' ')),
  ]);
  const titles = ['id', 'name', 'state', 'language', 'built (UTC)', 'contents'];
  const [headerLine = '', ...lines] = tableLines([titles.map((title) => style.bold(title)), ...rows]);
  const groups = records.map((record, index) => {
    const { errorCode, errorMessage } = record;
    const line = lines[index] ?? '';
    if (errorCode === null) return [line];
    return [line, `${' '.repeat(ID_CHARS + 2)}${style.red(errorCode)}: ${sanitizeLine(errorMessage ?? '')}`];
  });
  return [headerLine, ...groups.flat()];
}
