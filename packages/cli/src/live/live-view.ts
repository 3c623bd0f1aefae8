import type { Plan } from '@heddle/core';
import type { RunEvent } from '@heddle/engine';
import { clockTime, duration } from '../render/format.ts';
import { safeLine } from '../render/style.ts';
import type { Style } from '../render/style.ts';
import { clip } from '../render/table.ts';
import stringWidth from 'fast-string-width';
import { Activity } from './activity.ts';
import { collectingParallels, endedLines, pausedLine, resumesAtMs } from './block-lines.ts';
import type { LineFormat } from './block-lines.ts';
import type { Painter } from './painter.ts';

/** Calls `tick` at an interval. Returns a function that stops it. */
export type Ticker = (everyMs: number, tick: () => void) => () => void;

export interface LiveParts {
  plan: Plan;
  /** Ids of mocked blocks. */
  mocked: ReadonlySet<string>;
  painter: Painter;
  style: Style;
  /** True: the terminal shows a status line, so that "still running" lines are not needed. */
  updating: boolean;
  now: () => number;
  ticker: Ticker;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;
const SLOW_MS = 2000;
const NAME_WIDTH = 32;

type BlockEvent = Extract<RunEvent, { log: unknown }>;

/** Shows the progress of a run. Events may arrive twice, because a late viewer also reads the logs. */
export class LiveView {
  /** Number of ended blocks. */
  blocks = 0;
  readonly #parts: LiveParts;
  readonly #format: LineFormat;
  readonly #activity = new Activity();
  readonly #ended = new Set<number>();
  readonly #paused = new Set<number>();
  readonly #startedMs: number;
  readonly #stop: () => void;
  #frame = 0;
  #isDrawn = false;

  constructor(parts: LiveParts) {
    this.#parts = parts;
    this.#startedMs = parts.now();
    const names = Object.values(parts.plan.blocks)
      .filter(({ containers }) => containers.length === 0)
      .map(({ name }) => stringWidth(safeLine(name)));
    this.#format = {
      style: parts.style,
      plan: parts.plan,
      mocked: parts.mocked,
      width: Math.min(
        NAME_WIDTH,
        names.reduce((widest, each) => Math.max(widest, each), 8),
      ),
      collecting: new Set(collectingParallels(parts.plan.skeleton)),
    };
    this.#stop = parts.ticker(FRAME_MS, () => this.#tick());
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
  say(line: string): void {
    this.#parts.painter.print([line]);
  }

  /** Removes the status line and stops drawing. */
  close(): void {
    this.#stop();
    this.#parts.painter.status('');
  }

  #showBlock({ type, log, output }: BlockEvent): void {
    if (this.#ended.has(log.executionOrder)) return;
    if (type === 'block:started') {
      this.#activity.start(log);
      return;
    }
    if (type === 'block:paused') {
      this.#showPause(log, output);
      return;
    }
    this.#ended.add(log.executionOrder);
    this.#activity.end(log);
    this.blocks += 1;
    this.#parts.painter.print(endedLines(log, output, this.#format));
  }

  #showPause(log: BlockEvent['log'], output: BlockEvent['output']): void {
    if (this.#paused.has(log.executionOrder)) return;
    this.#paused.add(log.executionOrder);
    const { updating, painter, now } = this.#parts;
    const untilMs = resumesAtMs(output);
    const until = untilMs === undefined ? undefined : clockTime(untilMs, now());
    if (until === undefined) this.#activity.end(log);
    else this.#activity.wait(log, until);
    // The status line shows blocks that wait for a time. Without it, a permanent line does, except for nested blocks.
    const isLineOmitted = until !== undefined && (updating || log.container !== undefined);
    if (!isLineOmitted) painter.print([pausedLine(log, until, this.#format)]);
  }

  #showRetry(event: Extract<RunEvent, { type: 'block:retrying' }>): void {
    const { style, painter } = this.#parts;
    const waitMs = Math.max(0, event.dueMs - event.atMs);
    const when = waitMs < 50 ? 'now' : `in ${duration(waitMs)}`;
    painter.print([
      `${style.yellow('↻')} ${safeLine(event.blockName)}  ${style.dim(`attempt ${event.attempt - 1} failed, next ${when}`)}`,
    ]);
  }

  #showIteration(event: Extract<RunEvent, { type: 'container:iteration' }>): void {
    const { updating, painter, style, plan } = this.#parts;
    const { blockId, blockName, iteration, count } = event;
    this.#activity.iterate(blockId, blockName, { iteration, count });
    const isNested = (plan.blocks[blockId]?.containers.length ?? 0) > 0;
    if (updating || isNested || !isMilestone(iteration + 1, count)) return;
    const total = count === undefined ? '' : `/${count}`;
    painter.print([style.dim(`· ${safeLine(blockName)} ${iteration + 1}${total}`)]);
  }

  #tick(): void {
    const { painter, style, now, updating } = this.#parts;
    const line = this.#activity.line();
    if (updating) {
      if (line !== '' || this.#isDrawn) {
        this.#isDrawn = true;
        this.#frame = (this.#frame + 1) % FRAMES.length;
        const elapsed = style.dim(duration(now() - this.#startedMs));
        painter.status(
          `${style.cyan(FRAMES[this.#frame] ?? '·')} ${clip(line === '' ? 'waiting' : line, 90)}  ${elapsed}`,
        );
      }
      return;
    }
    for (const { path } of this.#activity.slow(now(), SLOW_MS))
      painter.print([style.dim(`… ${path} is still running`)]);
  }
}

/** True for 1, 2, … 10, 20, … 100, 200, … and the last number, so that many iterations print few lines. */
export function isMilestone(number: number, count: number | undefined): boolean {
  return number === count || number % 10 ** Math.floor(Math.log10(number)) === 0;
}
