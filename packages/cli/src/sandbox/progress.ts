import { readEnv } from '../env.ts';
import type { Io } from '../io.ts';
import { createTerminalOutput } from '../live/terminal-output.ts';
import { formatDuration } from '../render/format.ts';
import { styleFor } from '../render/style.ts';

/** Display of the progress of a build. */
export interface ProgressDisplay {
  report(step: string): void;
  /** Time since the first step; undefined before it. */
  elapsedMs(): number | undefined;
  end(): void;
}

const SECOND_MS = 1_000;

/**
 * Creates a progress display. On a terminal it shows the current step with its duration. Elsewhere it prints a step
 * only if its kind (its first word) differs from that of the previous step. `quiet`: prints nothing.
 */
export function createProgressDisplay({ stderr }: Io, quiet: boolean): ProgressDisplay {
  const isTerminal = !quiet && stderr.isTTY === true && readEnv().canUpdateLines;
  const output = createTerminalOutput(stderr, isTerminal);
  const style = styleFor(stderr);
  let firstStepAtMs: number | undefined;
  let step = { text: '', startedAtMs: 0 };
  const draw = (): void => {
    const seconds = Math.floor((performance.now() - step.startedAtMs) / SECOND_MS);
    const elapsedText = seconds === 0 ? '' : ` ${formatDuration(seconds * SECOND_MS).replace('.0 s', ' s')}`;
    output.setStatus(style.dim(`${step.text} …${elapsedText}`));
  };
  const timer = isTerminal ? setInterval(() => step.text !== '' && draw(), SECOND_MS) : undefined;
  return {
    report(text) {
      const isNewKind = text.split(' ')[0] !== step.text.split(' ')[0];
      step = { text, startedAtMs: performance.now() };
      firstStepAtMs ??= step.startedAtMs;
      if (isTerminal) draw();
      else if (isNewKind && !quiet) output.print([`${text} …`]);
    },
    elapsedMs: () => (firstStepAtMs === undefined ? undefined : performance.now() - firstStepAtMs),
    end() {
      clearInterval(timer);
      output.setStatus('');
    },
  };
}
