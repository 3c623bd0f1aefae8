import type { ImageRecord } from '@heddle/sandbox/images';
import { plural } from '../render/format.ts';
import { safe, safeLine, type Style } from '../render/style.ts';
import { table } from '../render/table.ts';

/** Characters of an id that are shown: enough to name the image by. */
const ID_CHARS = 12;

const MIB = 2 ** 20;

const labelOf = (record: ImageRecord): string => record.names[0] ?? record.id.slice(0, ID_CHARS);

function stateOf({ state }: ImageRecord, style: Style): string {
  if (state === 'ready') return style.green(state);
  return state === 'failed' ? style.red(state) : style.yellow(state);
}

/** What a spec asks for, on one line. */
function asked({ spec }: ImageRecord): string {
  return [...spec.dependencies, ...spec.cliTools, ...spec.systemPackages].join(' ');
}

/** One image for a person: how it stands, and why. */
export function recordLines(record: ImageRecord, style: Style): string[] {
  const { id, spec, runtime, packages, bytes, warnings, errorCode, errorMessage, errorDetail } = record;
  if (record.state !== 'ready') {
    const lines = [
      `${style.red('✗')} ${style.bold(safeLine(labelOf(record)))}  ${stateOf(record, style)}${errorCode === null ? '' : `: ${errorCode}`}`,
      ...(errorMessage === null ? [] : [safe(errorMessage)]),
    ];
    return errorDetail === null || errorDetail === '' ? lines : [...lines, '', style.dim(safe(errorDetail))];
  }
  const size = `${(bytes / MIB).toFixed(1)} MiB`;
  return [
    `${style.green('✓')} ${style.bold(safeLine(labelOf(record)))}  ${spec.language}, ${runtime}, ${plural(packages.length, 'package')}, ${size}`,
    `  ${style.dim(id)}`,
    ...packages.map((name) => `  ${safeLine(name)}`),
    ...warnings.map((warning) => `${style.yellow('!')} ${safeLine(warning)}`),
  ];
}

/** All images for a person, one a line. */
export function listLines(records: readonly ImageRecord[], style: Style): string[] {
  if (records.length === 0) return ['There are no images.'];
  const rows = records.map((record) => [
    style.dim(record.id.slice(0, ID_CHARS)),
    safeLine(record.names.join(', ')) || '-',
    stateOf(record, style),
    record.spec.language,
    record.builtAt === null ? '-' : record.builtAt.slice(0, 16).replace('T', ' '),
    safeLine(record.errorCode === null ? asked(record) : `${record.errorCode}: ${record.errorMessage ?? ''}`),
  ]);
  return table([
    ['id', 'name', 'state', 'language', 'built', 'contents'].map((title) => style.bold(title)),
    ...rows,
  ]);
}
