import * as z from 'zod';

// Names on some systems are not what a shell would accept; values are always text.
const environment = z.record(z.string(), z.string().optional());

const settings = z.object({
  /** `dumb`: a terminal that cannot move its cursor. */
  TERM: z.string().default(''),
});

/** The environment of the process: the only place that reads it. Colours are Node's affair (NO_COLOR, FORCE_COLOR). */
export interface Env {
  /** True when the terminal can rewrite a line. */
  canUpdateLines: boolean;
  /** Value of a variable; undefined when it is not set. */
  value(name: string): string | undefined;
  /** All of it, for programs that are started. */
  all: { readonly [name: string]: string | undefined };
}

/** The environment, read once from `source`. */
export function readEnv(source: NodeJS.ProcessEnv = process.env): Env {
  // The process's own environment is no plain object.
  const values = environment.parse({ ...source });
  const { TERM } = settings.parse({ ...source });
  return {
    canUpdateLines: TERM !== 'dumb',
    all: values,
    value: (name) => (Object.hasOwn(values, name) ? values[name] : undefined),
  };
}
