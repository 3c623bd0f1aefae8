import type { Plan } from '@heddle/core';
import type { RunEvent } from '@heddle/engine';
import { formatClockTime, formatDuration } from '../render/format.ts';
import { sanitizeLine } from '../render/style.ts';
import type { Style } from '../render/style.ts';
import { truncate } from '../render/table.ts';
import type { RepeatFunction } from '../repeat.ts';
import stringWidth from 'fast-string-width';
import { Activity } from './activity.ts';
import { collectingParallelIdsOf, endedBlockLines, pausedBlockLine, resumeTimeMs } from './block-lines.ts';
import type { LineFormat } from './block-lines.ts';
import type { TerminalOutput } from './terminal-output.ts';

export interface LiveViewOptions {
  plan: Plan;
  /** Ids of mocked blocks. */
  mockedIds: ReadonlySet<string>;
  terminal: TerminalOutput;
  style: Style;
  /** True if the terminal shows a status line, so that "still running" lines are not needed. */
  hasStatusLine: boolean;
  now: () => number;
  repeat: RepeatFunction;
}

const SPINNER_FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_INTERVAL_MS = 100;
const SLOW_BLOCK_MS = 2000;
const NAME_WIDTH = 32;

type BlockEvent = Extract<RunEvent, { log: unknown }>;

/** Shows the progress of a run. Events may arrive twice, because a late viewer also reads the logs. */
export class LiveView {
  /** Number of ended blocks. */
  endedBlockCount = 0;
  readonly #options: LiveViewOptions;
  readonly #format: LineFormat;
  readonly #activity = new Activity();
  readonly #endedExecutionOrders = new Set<number>();
  readonly #pausedExecutionOrders = new Set<number>();
  readonly #startedMs: number;
  readonly #stopRepeating: () => void;
  #spinnerIndex = 0;
  #hasDrawnStatus = false;

  constructor(options: LiveViewOptions) {
    this.#options = options;
    this.#startedMs = options.now();
    const nameWidths = Object.values(options.plan.blocks)
      .filter(({ containers }) => containers.length === 0)
      .map(({ name }) => stringWidth(sanitizeLine(name)));
    this.#format = {
      style: options.style,
      plan: options.plan,
      mockedIds: options.mockedIds,
      nameWidth: Math.min(
        NAME_WIDTH,
        nameWidths.reduce((widest, nameWidth) => Math.max(widest, nameWidth), 8),
      ),
      collectingParallelIds: new Set(collectingParallelIdsOf(options.plan.skeleton)),
    };
    this.#stopRepeating = options.repeat(SPINNER_INTERVAL_MS, () => this.#tick());
  }

  accept(event: RunEvent): void {
    switch (event.type) {
      case 'block:started':
      case 'block:paused':
      case 'block:completed':
      case 'block:failed':
      case 'block:cancelled':
        this.#showBlock(event);
        break;
      case 'block:retrying':
        this.#showRetry(event);
        break;
      case 'container:iteration':
        this.#showIteration(event);
        break;
      default:
        break;
    }
  }

  /** Prints a line above the status line. */
  printLine(line: string): void {
    this.#options.terminal.print([line]);
  }

  /** Removes the status line and stops drawing. */
  close(): void {
    this.#stopRepeating();
    this.#options.terminal.setStatus('');
  }

  #showBlock({ type, log, output }: BlockEvent): void {
    if (this.#endedExecutionOrders.has(log.executionOrder)) return;
    if (type === 'block:started') {
      this.#activity.start(log);
      return;
    }
    if (type === 'block:paused') {
      this.#showPause(log, output);
      return;
    }
    this.#endedExecutionOrders.add(log.executionOrder);
    this.#activity.end(log);
    this.endedBlockCount += 1;
    this.#options.terminal.print(endedBlockLines(log, output, this.#format));
  }

  #showPause(log: BlockEvent['log'], output: BlockEvent['output']): void {
    if (this.#pausedExecutionOrders.has(log.executionOrder)) return;
    this.#pausedExecutionOrders.add(log.executionOrder);
    const { hasStatusLine, terminal, now } = this.#options;
    const untilMs = resumeTimeMs(output);
    const untilText = untilMs === undefined ? undefined : formatClockTime(untilMs, now());
    if (untilText === undefined) this.#activity.end(log);
    else this.#activity.wait(log, untilText);
    // The status line shows blocks that wait until a set time. Without it, they get a line, except nested blocks.
    const isLineOmitted = untilText !== undefined && (hasStatusLine || log.container !== undefined);
    if (!isLineOmitted) terminal.print([pausedBlockLine(log, untilText, this.#format)]);
  }

  #showRetry(event: Extract<RunEvent, { type: 'block:retrying' }>): void {
    const { style, terminal } = this.#options;
    const waitMs = Math.max(0, event.dueMs - event.atMs);
    const delayText = waitMs < 50 ? 'now' : `in ${formatDuration(waitMs)}`;
    terminal.print([
      `${style.yellow('↻')} ${sanitizeLine(event.blockName)}  ${style.dim(`attempt ${event.attempt - 1} failed, next ${delayText}`)}`,
    ]);
  }

  #showIteration(event: Extract<RunEvent, { type: 'container:iteration' }>): void {
    const { hasStatusLine, terminal, style, plan } = this.#options;
    const { blockId, blockName, iteration, count } = event;
    this.#activity.startIteration(blockId, blockName, { iteration, count });
    const isNested = (plan.blocks[blockId]?.containers.length ?? 0) > 0;
    if (hasStatusLine || isNested || !isMilestone(iteration + 1, count)) return;
    const total = count === undefined ? '' : `/${count}`;
    terminal.print([style.dim(`· ${sanitizeLine(blockName)} ${iteration + 1}${total}`)]);
  }

  #tick(): void {
    const { terminal, style, now, hasStatusLine } = this.#options;
    const statusText = this.#activity.statusText();
    if (hasStatusLine) {
      if (statusText !== '' || this.#hasDrawnStatus) {
        this.#hasDrawnStatus = true;
        this.#spinnerIndex = (this.#spinnerIndex + 1) % SPINNER_FRAMES.length;
        const elapsedText = style.dim(formatDuration(now() - this.#startedMs));
        terminal.setStatus(
          `${style.cyan(SPINNER_FRAMES[this.#spinnerIndex] ?? '·')} ${truncate(statusText === '' ? 'waiting' : statusText, 90)}  ${elapsedText}`,
        );
      }
      return;
    }
    for (const { path } of this.#activity.takeSlowBlocks(now(), SLOW_BLOCK_MS))
      terminal.print([style.dim(`… ${path} is still running`)]);
  }
}

/** True for 1, 2, … 10, 20, … 100, 200, … and the last number, so that many iterations print few lines. */
export function isMilestone(number: number, count: number | undefined): boolean {
  return number === count || number % 10 ** Math.floor(Math.log10(number)) === 0;
}
