import { readEnv } from '../env.ts';
import type { Io } from '../io.ts';
import { createPainter } from '../live/painter.ts';
import { duration } from '../render/format.ts';
import { styleFor } from '../render/style.ts';

/** What a build tells while it goes on. */
export interface Progress {
  tell(step: string): void;
  /** How long it is that the first step was told; undefined where none was. */
  tookMs(): number | undefined;
  end(): void;
}

const SECOND_MS = 1_000;

/** `quiet`: nobody watches. On a terminal the step that is done is shown with its seconds, elsewhere the first of each kind. */
export function createProgress({ stderr }: Io, quiet: boolean): Progress {
  const isTerminal = !quiet && stderr.isTTY === true && readEnv().canUpdateLines;
  const painter = createPainter(stderr, isTerminal);
  const style = styleFor(stderr);
  let firstMs: number | undefined;
  let step = { text: '', sinceMs: 0 };
  const paint = (): void => {
    const seconds = Math.floor((performance.now() - step.sinceMs) / SECOND_MS);
    const took = seconds === 0 ? '' : ` ${duration(seconds * SECOND_MS).replace('.0 s', ' s')}`;
    painter.status(style.dim(`${step.text} …${took}`));
  };
  const timer = isTerminal ? setInterval(() => step.text !== '' && paint(), SECOND_MS) : undefined;
  return {
    tell(text) {
      const isNewKind = text.split(' ')[0] !== step.text.split(' ')[0];
      step = { text, sinceMs: performance.now() };
      firstMs ??= step.sinceMs;
      if (isTerminal) paint();
      else if (isNewKind && !quiet) painter.print([`${text} …`]);
    },
    tookMs: () => (firstMs === undefined ? undefined : performance.now() - firstMs),
    end() {
      clearInterval(timer);
      painter.status('');
    },
  };
}
