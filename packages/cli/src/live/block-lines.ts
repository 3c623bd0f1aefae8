import type { BlockLog, Json, Plan } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import { formatDuration, formatCount } from '../render/format.ts';
import { sanitize, sanitizeLine } from '../render/style.ts';
import type { Style } from '../render/style.ts';
import { pad } from '../render/table.ts';
import { containersOf } from './activity.ts';

/** How to format the lines of blocks. */
export interface LineFormat {
  style: Style;
  /** Width of the column of names. */
  nameWidth: number;
  plan: Plan;
  /** Ids of mocked blocks. */
  mockedIds: ReadonlySet<string>;
  /** Ids of parallels that collect the failures of their branches. */
  collectingParallelIds: ReadonlySet<string>;
}

/** Returns the ids of the parallels that collect failures. */
export function collectingParallelIdsOf(region: Plan['skeleton']): string[] {
  return region.nodes.flatMap((node) => [
    ...(node.subflow?.collectErrors ? [node.id] : []),
    ...(node.subflow ? collectingParallelIdsOf(node.subflow.body) : []),
  ]);
}

const MAX_STDOUT_LINES = 20;

/** Returns the lines for an ended block. A block in a container has lines only if it failed or printed something. */
export function endedBlockLines(log: BlockLog, output: Json, format: LineFormat): string[] {
  const { style } = format;
  // A condition passes on the output of the block before it, including `stdout`.
  const printedLines = log.blockType === 'function' ? stdoutLines(output, style) : [];
  if (log.status === 'cancelled')
    return log.container ? [] : [blockLine(style.dim('○'), 'cancelled', log, format)];
  if (log.status === 'failed') return [...failedBlockLines(log, format), ...printedLines];
  if (log.container && printedLines.length === 0) return [];
  return [blockLine(style.green('✓'), noteOf(log, output, format), log, format), ...printedLines];
}

function failedBlockLines(log: BlockLog, format: LineFormat): string[] {
  const { style } = format;
  const isCollected = containersOf(log).some((id) => format.collectingParallelIds.has(id));
  const mark = log.errorHandled || isCollected ? style.yellow('!') : style.red('✗');
  const nonFatalNote = log.errorHandled ? 'failed; continues at its error port' : 'failed; collected';
  const notes = [attemptsNote(log), log.errorHandled || isCollected ? nonFatalNote : 'failed'];
  const firstLine = blockLine(mark, notes.filter((note) => note !== '').join(', '), log, format);
  // The end of the run shows the details of the failure that ended it.
  if (!log.errorHandled && !isCollected) return [firstLine];
  return [
    firstLine,
    ...sanitize(log.error?.message ?? '')
      .split('\n')
      .map((text) => style.dim(`    ${text}`)),
  ];
}

/** Returns the line for a block that waits for a person, or until a set time. */
export function pausedBlockLine(log: BlockLog, untilText: string | undefined, format: LineFormat): string {
  const name = pad(pathOf(log, format.plan), format.nameWidth);
  const note = untilText === undefined ? 'waits for a person' : `waits until ${untilText}`;
  return `${format.style.yellow('‖')} ${name}  ${' '.repeat(DURATION_WIDTH)}  ${format.style.dim(note)}`;
}

/**
 * Returns the time at which a paused block continues without a person, in milliseconds since the epoch; undefined if it
 * waits for a person.
 */
export function resumeTimeMs(output: Json): number | undefined {
  const resumeAt = isJsonObject(output) ? getOwn(output, 'resumeAt') : undefined;
  const atMs = typeof resumeAt === 'string' ? Date.parse(resumeAt) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}

const DURATION_WIDTH = 9;

function blockLine(mark: string, note: string, log: BlockLog, format: LineFormat): string {
  const durationText = pad(formatDuration(log.durationMs ?? 0), DURATION_WIDTH, 'left');
  const text = `${mark} ${pad(pathOf(log, format.plan), format.nameWidth)}  ${format.style.dim(durationText)}`;
  return note === '' ? text : `${text}  ${format.style.dim(note)}`;
}

/** Returns text such as `Each Item 3 › Price`: the block's name, after the iterations around it. */
export function pathOf(log: BlockLog, plan: Plan): string {
  const containers = [...log.parents, ...(log.container ? [log.container] : [])];
  return [
    ...containers.map(
      ({ blockId, index }) => `${sanitizeLine(plan.blocks[blockId]?.name ?? blockId)} ${index + 1}`,
    ),
    sanitizeLine(log.blockName),
  ].join(' › ');
}

function noteOf(log: BlockLog, output: Json, { mockedIds }: LineFormat): string {
  const mockNote = mockedIds.has(log.blockId) ? 'mocked' : '';
  return [mockNote, containerNote(log, output), branchNote(log, output), attemptsNote(log)]
    .filter((note) => note !== '')
    .join(', ');
}

function containerNote(log: BlockLog, output: Json): string {
  if (log.blockType !== 'loop' && log.blockType !== 'parallel') return '';
  const results = isJsonObject(output) ? getOwn(output, 'results') : undefined;
  return Array.isArray(results)
    ? formatCount(results.length, log.blockType === 'loop' ? 'iteration' : 'branch')
    : '';
}

/** Returns the branch that a condition took. */
function branchNote(log: BlockLog, output: Json): string {
  if (log.blockType !== 'condition' || !isJsonObject(output)) return '';
  const path = getOwn(output, 'selectedPath');
  const title = isJsonObject(path) ? getOwn(path, 'blockTitle') : undefined;
  if (typeof title === 'string') return `→ ${sanitizeLine(title)}`;
  return getOwn(output, 'selectedOption') === null ? 'no branch' : '';
}

function attemptsNote(log: BlockLog): string {
  return log.tries > 1 ? `${log.tries} attempts` : '';
}

/** Returns what a function block printed, indented. */
function stdoutLines(output: Json, style: Style): string[] {
  const stdout = isJsonObject(output) ? getOwn(output, 'stdout') : undefined;
  if (typeof stdout !== 'string' || stdout === '') return [];
  const lines = sanitize(stdout).split('\n');
  const omittedCount = lines.length - MAX_STDOUT_LINES;
  const shownLines = lines
    .slice(0, MAX_STDOUT_LINES)
    .map((text) => `    ${style.cyan('│')} ${text}`.trimEnd());
  return omittedCount > 0
    ? [...shownLines, style.dim(`    │ … ${formatCount(omittedCount, 'more line')}`)]
    : shownLines;
}
