import * as z from 'zod';

// Some systems allow variable names that no shell accepts. Values are always strings.
const environmentSchema = z.record(z.string(), z.string().optional());

const settingsSchema = z.object({
  /** `dumb` means a terminal that cannot move its cursor. */
  TERM: z.string().default(''),
});

/** The environment of the process, as commands read it. Node itself handles colours (NO_COLOR, FORCE_COLOR). */
export interface Env {
  /** True if the terminal can rewrite a line. */
  canUpdateLines: boolean;
  /** Value of a variable; undefined if it is not set. */
  value(name: string): string | undefined;
  /** All variables, for child processes. */
  variables: { readonly [name: string]: string | undefined };
}

/** Reads the environment. */
export function readEnv(source: NodeJS.ProcessEnv = process.env): Env {
  // `process.env` is not a plain object.
  const values = environmentSchema.parse({ ...source });
  const { TERM } = settingsSchema.parse({ ...source });
  return {
    canUpdateLines: TERM !== 'dumb',
    variables: values,
    value: (name) => (Object.hasOwn(values, name) ? values[name] : undefined),
  };
}
