import type { ImageRecord } from '@heddle/images';
import { duration, plural } from '../render/format.ts';
import { safe, safeLine, type Style } from '../render/style.ts';
import { table } from '../render/table.ts';
import type { Made } from './spec-file.ts';

/** Characters of an id that are shown: enough to name the image by. */
const ID_CHARS = 12;

/** So many packages that nobody asked for are listed; more are counted. */
const MOST_MORE = 20;

const MIB = 2 ** 20;

function stateOf({ state }: ImageRecord, style: Style): string {
  if (state === 'ready') return style.green(state);
  return state === 'failed' ? style.red(state) : style.yellow(state);
}

const entriesOf = ({ spec }: ImageRecord): string[] => [
  ...spec.dependencies,
  ...spec.cliTools,
  ...spec.systemPackages,
];

/** The name in an entry of a spec, without what stands behind it: a range, extras, a version. */
const nameIn = (entry: string): string => /^@?[^@\s[<>=!~:]+/.exec(entry)?.[0] ?? entry;

/** What an image has: first what was asked for, then what that needs. */
function packageLines(record: ImageRecord, style: Style): string[] {
  // A tool has its own id, whatever the packages are called that it is made of.
  const { dependencies, systemPackages } = record.spec;
  const names = new Set([...dependencies, ...systemPackages].map(nameIn));
  const isAsked = (text: string): boolean => names.has(text.slice(0, text.lastIndexOf(' ')));
  const asked = record.packages.filter(isAsked);
  const more = record.packages.filter((text) => !isAsked(text));
  const counted = `  and ${plural(more.length, 'package')} that they need (all: --json)`;
  return [
    ...[...record.spec.cliTools, ...asked].map((text) => `  ${safeLine(text)}`),
    ...(more.length > MOST_MORE
      ? [style.dim(counted)]
      : more.map((text) => style.dim(`  ${safeLine(text)}`))),
  ];
}

function readyLines({ record, name, tookMs }: Made, style: Style): string[] {
  const { id, spec, runtime, packages, bytes, warnings } = record;
  const label = name ?? record.names[0] ?? id.slice(0, ID_CHARS);
  const facts = [
    spec.language,
    runtime,
    plural(packages.length, 'package'),
    `${(bytes / MIB).toFixed(1)} MiB`,
  ];
  const came = tookMs === undefined ? 'was there' : `built in ${duration(tookMs)}`;
  return [
    `${style.green('✓')} ${style.bold(safeLine(label))}  ${facts.join(', ')}, ${came}`,
    `  ${style.dim(id)}`,
    ...packageLines(record, style),
    ...warnings.map((warning) => `${style.yellow('!')} ${safeLine(warning)}`),
  ];
}

/** What came of a spec file, for a person: how the image stands, and why. */
export function madeLines(made: Made, style: Style): string[] {
  const { record, name } = made;
  if (record.state === 'ready') return readyLines(made, style);
  const { id, errorCode, errorMessage, errorDetail } = record;
  const label = style.bold(safeLine(name ?? id.slice(0, ID_CHARS)));
  const lines = [
    `${style.red('✗')} ${label}  ${stateOf(record, style)}${errorCode === null ? '' : `: ${errorCode}`}`,
    ...(errorMessage === null ? [] : [safe(errorMessage)]),
  ];
  return errorDetail === null || errorDetail === '' ? lines : [...lines, '', style.dim(safe(errorDetail))];
}

/** All images for a person, one a line; under one that failed the reason. */
export function listLines(records: readonly ImageRecord[], style: Style): string[] {
  const rows = records.map((record) => [
    style.dim(record.id.slice(0, ID_CHARS)),
    safeLine(record.names.join(', ')) || '-',
    stateOf(record, style),
    record.spec.language,
    record.builtAt === null ? '-' : record.builtAt.slice(0, 16).replace('T', ' '),
    safeLine(entriesOf(record).join(' ')),
  ]);
  const titles = ['id', 'name', 'state', 'language', 'built (UTC)', 'contents'];
  const [head = '', ...lines] = table([titles.map((title) => style.bold(title)), ...rows]);
  const all = records.map((record, index) => {
    const { errorCode, errorMessage } = record;
    const line = lines[index] ?? '';
    if (errorCode === null) return [line];
    return [line, `${' '.repeat(ID_CHARS + 2)}${style.red(errorCode)}: ${safeLine(errorMessage ?? '')}`];
  });
  return [head, ...all.flat()];
}
