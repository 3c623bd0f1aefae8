import type { RequiredFields } from './required-fields.ts';

/** The resources that a draft is compared with, besides the workflows of its workspace. Undefined ones are not compared. */
export interface Compared {
  /** The required fields of the described types. */
  requiredFields: RequiredFields | undefined;
  /** The names of the workspace's values. */
  names: ReadonlySet<string> | undefined;
  sandboxes: boolean;
  /** The tools that agents can call. */
  tools: readonly { id: string }[] | undefined;
}
